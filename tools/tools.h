/*
 * tools/tools.h - the subcommands of the philox command
 *
 * Each gets the command line from its own name on: argv[0] is "train" and so
 * on. It returns the exit status: 0 done, 1 it failed or found a difference,
 * 2 the command line is wrong, and says why on stderr. `--help` prints its
 * options on stdout and returns 0.
 */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

int tool_bench(int argc, char **argv);
int tool_diff(int argc, char **argv);
int tool_draw(int argc, char **argv);
int tool_explain(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_inspect(int argc, char **argv);
int tool_matrix(int argc, char **argv);
int tool_merge(int argc, char **argv);
int tool_selftest(int argc, char **argv);
int tool_train(int argc, char **argv);

#endif
