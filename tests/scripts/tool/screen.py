#!/usr/bin/env python3
# tests/scripts/tool/screen.py - what a person sees of a command
#
#   screen.py COLUMNS [NAME=VALUE]... COMMAND [ARGUMENT]...
#
# runs a command in a terminal of that width and prints what is on the screen at
# the end, then each line that was written over, after "over: ". The terminal is
# pyte's, with as many lines as are needed. Exit status: that of the command, or
# 99 if a line was wider than the terminal, so that the terminal broke it: a
# line of progress would scroll then.
#
# Settings in front of the command: SIZE=0 gives a terminal that does not know
# its size; OUT=file or ERR=file sends a stream to a file; all others go to the
# environment, and NAME= removes.

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading

import pyte


class Screen(pyte.Screen):
    """Notes lines that the terminal had to break, and lines written over."""

    def __init__(self, columns, lines):
        self.broken = []
        self.over = []
        self.behind = ""
        super().__init__(columns, lines)

    def row(self):
        line = self.buffer[self.cursor.y]
        return "".join(line[x].data for x in range(self.columns)).rstrip()

    def draw(self, data):
        self.go_back()
        for character in data:
            if self.cursor.x >= self.columns:
                self.broken.append(self.row())
            super().draw(character)

    # A carriage return and a line feed end a line; one alone goes back in it
    def carriage_return(self):
        self.behind = self.row()
        super().carriage_return()

    def linefeed(self):
        self.behind = ""
        super().linefeed()

    def erase_in_line(self, how=0, private=False):
        self.go_back()
        super().erase_in_line(how, private)

    def go_back(self):
        if self.behind:
            self.over.append(self.behind)
        self.behind = ""


# What the terminal gets after all that the command wrote: no command writes it.
END = b"\0end of the command\0"


# The terminal is no session's: one whose leader ends is hung up, and what nobody
# has read by then is lost. It is lost, too, where the last of the inner ends is
# closed before all was read: so this one stays open.
def start(columns, settings, command):
    """Returns the process and both ends of its terminal."""
    terminal, inside = pty.openpty()
    size = 0 if settings.pop("SIZE", "") == "0" else columns
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, size, 0, 0))
    streams = {name: open(settings.pop(name), "wb") if name in settings
               else inside for name in ("OUT", "ERR")}
    environment = {"TERM": "xterm", **os.environ, **settings}
    process = subprocess.Popen(
        command, stdin=inside, stdout=streams["OUT"], stderr=streams["ERR"],
        env={name: value for name, value in environment.items()
             if value or name not in settings})
    return process, terminal, inside


def output_of(process, terminal, inside):
    """Returns what the command has written when it has ended."""

    def tell():
        process.wait()
        os.write(inside, END)

    threading.Thread(target=tell).start()
    text = b""
    while not text.endswith(END):
        text += os.read(terminal, 65536)
    return text[:-len(END)]


def main():
    columns = int(sys.argv[1])
    settings, command = {}, sys.argv[2:]
    while "=" in command[0]:
        name, value = command.pop(0).split("=", 1)
        settings[name] = value
    os.environ["TERM"] = "xterm"
    os.environ.pop("NO_COLOR", None)
    os.environ.pop("COLUMNS", None)
    process, terminal, inside = start(columns, settings, command)
    screen = Screen(columns, 3000)
    stream = pyte.ByteStream(screen)
    stream.feed(output_of(process, terminal, inside))
    status = process.wait()
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    print("\n".join(lines))
    for line in screen.over:
        print("over:", line)
    for line in screen.broken:
        print("wider than the screen:", line)
    colours = {cell.fg for row in screen.buffer.values()
               for cell in row.values()} - {"default"}
    print("colours:", *sorted(colours))
    sys.exit(99 if screen.broken else status)


main()
