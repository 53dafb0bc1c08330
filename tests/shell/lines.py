"""Lines of shell from a grammar, the same for the same seed. Names are those of files and folders that `executing` lays out."""

import random

PROGRAMS = ("foo", "bar", "git", "make", "npm")
"""Stubs: they are only written down."""

DEPTH = 2
FILES = ("a", "b", "c.txt", "d.txt", "sub/e")
TARGETS = ("n1", "n2", "sub/n3", "'n 4'", '"n5"', "a", "sub/../n6", "c.txt")
WORDS = (
    *("x", "-v", "'q r'", '"s t"', "$'u v'", "w\\ x", "{1,2}", "y{a,b}", "$HOME", '"$HOME/z"', "*.txt", "'*'", "~"),
    *("#x", "x#y", "$((1+2))", "a=b", "--long=1", "''", "é", "[x]", "!", "\\;", "'a;b'", '"a|b"', "'`x`'", "-"),
)
WRAPPERS = (*("sudo", "nice", "nohup", "timeout 5", "env", "env X=1", "time", "command", "exec", "bash -c", "eval", "xargs", "setsid"),)
ALONE = (*("v=1", "v=$HOME", "v=x w=y", "v='a b'", "v=$(foo v)", "export CI=1", "> n7", "[ -f a ]", "[[ -f a ]]", "test -d sub"),)
MOVES = ("cd sub", "cd ..", "cd .", "cd 'sub'", "cd missing", "cd sub/deep", 'cd "sub"')
REDIRECTS = (
    *("> TARGET", ">TARGET", ">> TARGET", "2> TARGET", "&> TARGET", ">| TARGET", "2>&1", "> /dev/null", "2>/dev/null"),
    *("< a", ">&2", "&>> TARGET", "3> TARGET", ">& TARGET", "<> TARGET"),
)
COMPOUNDS = (
    *("(@\n)", "(@\n)", "{ @\n}", "{ @\n}", "if @\nthen @\nfi", "if @\nthen @\nelif @\nthen @\nelse @\nfi"),
    *("for i in 1 'x y'; do @\ndone", "while @\ndo @\nbreak; done", "until @\ndo @\nbreak; done"),
    *("case a in a) @\n;; b|c) @\n;; esac", "fn() { @\n}; fn"),
)
WRITERS = (
    *("cp FILE TARGET", "cp FILE sub", "mv FILE TARGET", "rm FILE", "rm -r sub", "touch TARGET", "mkdir -p TARGET/m", "tee TARGET"),
    *("tee -a TARGET", "sort -o TARGET FILE", "sort FILE", "cat FILE", "truncate -s 0 TARGET", "ln -s FILE n0", "ln FILE n0"),
    *("dd if=a of=TARGET", "sed -i s/x/y/ FILE", "sed s/x/y/ FILE", "chmod 600 FILE", "install FILE TARGET", "rm *.txt"),
    *("cp *.txt sub", "cp *.txt sub -v", "uniq FILE TARGET", "touch TARGET x*", "touch TARGET $v", "find . -name '*.txt' -delete"),
    *("find sub -type f -exec rm {} +", "find . -name a -exec foo {} \\;", "ls -a", "cp -t sub a b", "mv a b sub", "tar cf TARGET sub"),
    *("mkdir -p sub/{x,y}", "head -1 FILE", "rmdir sub/empty", "split a TARGET", "tee TARGET n1", "pwd"),
)


class Lines:
    """Makes lines."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - lines for a test, not secrets

    def line(self) -> str:
        """The next one."""
        return self.statements(DEPTH)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def statements(self, depth: int) -> str:
        made = self.pipeline(depth)
        for _ in range(self.random.randrange(3)):
            # What runs beside the rest would make the result a matter of time.
            made += self.pick("; ", " && ", " || ", "\n", ";", "&&") + self.pipeline(depth)
        return made

    def pipeline(self, depth: int) -> str:
        made = self.command(depth)
        while self.chance(0.2):
            made += self.pick(" | ", "|", " |& ") + self.command(depth)
        return f"! {made}" if self.chance(0.05) else made

    def command(self, depth: int) -> str:
        if depth > 0 and self.chance(0.15):
            return self.compound(depth - 1) + self.redirects(0.3)
        if self.chance(0.08):
            return self.pick(*MOVES)
        if self.chance(0.06):
            return self.pick(*ALONE)
        return self.simple(depth)

    def compound(self, depth: int) -> str:
        made = self.pick(*COMPOUNDS)
        while "@" in made:
            made = made.replace("@", self.statements(depth), 1)
        return made

    def simple(self, depth: int) -> str:
        made = self.program(depth)
        made = self.pick("V=1 ", "CI=1 ", ">n8 ", "2>/dev/null ", "CI=1 >n9 ") + made if self.chance(0.08) else made
        if self.chance(0.12):
            made = self.wrapped(made)
        made += self.redirects(0.25)
        if self.chance(0.06):
            made += self.pick(" <<E\nx $HOME\nE", " <<'E'\n$(foo h)\n`foo`\nE", ' <<< "x y"', " <<-E\n\tx\n\tE", " <<E\n$(foo here)\nE")
        elif self.chance(0.04):
            made += " # rm a"
        return made

    def wrapped(self, made: str) -> str:
        wrapper = self.pick(*WRAPPERS)
        if wrapper in ("bash -c", "eval"):
            return f"{wrapper} {quoted(made)}"
        return f"{wrapper} {made}"

    def program(self, depth: int) -> str:
        if self.chance(0.45):
            return f"{self.spelt(self.pick(*PROGRAMS))}{self.words(depth)}"
        name, _, rest = self.pick(*WRITERS).partition(" ")
        while "FILE" in rest or "TARGET" in rest:
            rest = rest.replace("TARGET", self.pick(*TARGETS), 1).replace("FILE", self.pick(*FILES), 1)
        return f"{self.spelt(name)} {rest}"

    def spelt(self, name: str) -> str:
        if self.chance(0.75):
            return name
        return self.pick(f'"{name}"', f"'{name}'", f"\\{name}", f"{name[0]}''{name[1:]}", f"$'{name}'", f'{name[0]}"{name[1:]}"')

    def words(self, depth: int) -> str:
        return "".join(f"{self.pick(' ', ' ', '  ', chr(9))}{self.word(depth)}" for _ in range(self.random.randrange(4)))

    def word(self, depth: int) -> str:
        if depth > 0 and self.chance(0.08):
            inner = self.statements(depth - 1)
            return self.pick(f"$({inner}\n)", f'"$({inner}\n)"', f'"x$({inner}\n)y"', f"<({inner}\n)", "`foo tick`")
        if self.chance(0.03):
            return self.pick("$v", '"$v"', '"${v:-x}"', "${v%x}")
        return self.pick(*WORDS)

    def redirects(self, share: float) -> str:
        made = ""
        while self.chance(share):
            made += " " + self.pick(*REDIRECTS).replace("TARGET", self.pick(*TARGETS))
        return made


def quoted(text: str) -> str:
    """In single quotes, as bash wants it."""
    return "'" + text.replace("'", "'\\''") + "'"
