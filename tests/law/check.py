"""The law's numbers, as they are made here from the page, are the library's.

check.py --library LIBPHILOX.SO [--values N] [--fractions N] [--entries N]
         [--words N | --all-words FUNCTION] [--seed S] [--build FOLDER]

  --values     of all kinds, dtypes and shapes, by law.py
  --fractions  also by the page's own functions, with exact arithmetic
  --entries    tokens and drafts, shards, regions, rows, data, roundings to 8
               and 4 bits, sums of weights and subsets, N of each
  --words      functions of one word: N chunks of 2^16 words, and some more
  --all-words  one of them, or "all", for all 2^32 words; what is done is in a
               file of FOLDER/law, and not done again
"""

import argparse
import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "compare"))
import categories  # noqa: E402
import codes  # noqa: E402
import keys  # noqa: E402
import mixtures  # noqa: E402
import samples  # noqa: E402
import subsets  # noqa: E402
import values  # noqa: E402
import words  # noqa: E402
from library import Library  # noqa: E402


def folder_of(args):
    folder = os.path.join(args.build, "law")
    os.makedirs(folder, exist_ok=True)
    return folder


def of_words(args, rng):
    folder = folder_of(args)
    built = words.built(folder)
    if not args.all_words:
        return words.check(built, rng, args.words)
    names = [args.all_words] if args.all_words != "all" else words.FUNCTIONS
    return next(filter(None, (words.all_words(built, name, folder)
                              for name in names)), None)


def compared(args):
    """What is wrong first."""
    rng = np.random.default_rng(args.seed)
    library = Library(args.library)
    wrong = None
    if args.values:
        wrong = values.check(library, rng, args.values)
    if args.fractions and not wrong:
        wrong = values.fractions(library, rng, args.fractions)
    if args.entries and not wrong:
        calls = words.built(folder_of(args), "calls")
        wrong = (keys.check(library, rng, args.entries) or
                 samples.check(library, rng, args.entries) or
                 mixtures.check(calls, library, rng, args.entries) or
                 codes.check(calls, library, rng, args.entries) or
                 categories.check(calls, library, rng, args.entries) or
                 subsets.check(library, rng, args.entries))
    if (args.words or args.all_words) and not wrong:
        wrong = of_words(args, rng)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="build/libphilox.so")
    for name in "--values", "--fractions", "--entries", "--words":
        parser.add_argument(name, type=int, default=0)
    parser.add_argument("--all-words", choices=["all", *words.FUNCTIONS])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default="build")
    wrong = compared(parser.parse_args())
    if wrong:
        print(wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
