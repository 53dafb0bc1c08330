"""Sort the lines of a file."""

import sys


def tidy(text: str) -> str:
    # TODO: keep a heading at the top
    return "\n".join(sorted(text.splitlines()))


if __name__ == "__main__":
    # TODO: say what is missing instead of failing
    print(tidy(open(sys.argv[1]).read()))
