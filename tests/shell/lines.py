"""Lines of shell from a grammar, the same for the same seed. Names are those of files and folders that `executing` lays out."""

import random

PROGRAMS = ("foo", "bar", "git", "make", "npm")
"""Stubs: they are only written down."""

DEPTH = 3
FILES = ("a", "b", "c.txt", "d.txt", "sub/e")
TARGETS = ("n1", "n2", "sub/n3", "'n 4'", '"n5"', "a", "sub/../n6", "c.txt")
WORDS = (
    *(
        "x",
        "-v",
        "'q r'",
        '"s t"',
        "$'u v'",
        "w\\ x",
        "{1,2}",
        "y{a,b}",
        "$HOME",
        '"$HOME/z"',
        "$v",
        '"$v"',
        "*.txt",
        "'*'",
        "~",
        "#x",
        "x#y",
    ),
    *("$((1+2))", "a=b", "--long=1", "''", "é", "[x]", "!", "\\;", "'a;b'", '"a|b"', "'`x`'", "-"),
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
            return self.pick("cd sub", "cd ..", "cd .", "cd 'sub'", "cd missing", "cd sub/deep", 'cd "sub"')
        if self.chance(0.06):
            return self.pick(
                "v=1", "v=$HOME", "v=x w=y", "v='a b'", "v=$(foo v)", "export CI=1", "> n7", "[ -f a ]", "[[ -f a ]]", "test -d sub"
            )
        return self.simple(depth)

    def compound(self, depth: int) -> str:
        def inner() -> str:
            return self.statements(depth)

        match self.pick("sub", "sub", "brace", "brace", "if", "else", "for", "while", "case", "until", "function"):
            case "sub":
                return f"({inner()}\n)"
            case "brace":
                return f"{{ {inner()}\n}}"
            case "if":
                return f"if {inner()}\nthen {inner()}\nfi"
            case "else":
                return f"if {inner()}\nthen {inner()}\nelif {inner()}\nthen {inner()}\nelse {inner()}\nfi"
            case "for":
                return f"for i in 1 'x y'; do {inner()}\ndone"
            case "while":
                return f"while {inner()}\ndo {inner()}\nbreak; done"
            case "until":
                return f"until {inner()}\ndo {inner()}\nbreak; done"
            case "case":
                return f"case a in a) {inner()}\n;; b|c) {inner()}\n;; esac"
            case _:
                return f"fn() {{ {inner()}\n}}; fn"

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
        wrapper = self.pick(
            "sudo", "nice", "nohup", "timeout 5", "env", "env X=1", "time", "command", "exec", "bash -c", "eval", "xargs", "setsid"
        )
        if wrapper in ("bash -c", "eval"):
            return f"{wrapper} {quoted(made)}"
        return f"{wrapper} {made}"

    def program(self, depth: int) -> str:
        if self.chance(0.45):
            return f"{self.spelt(self.pick(*PROGRAMS))}{self.words(depth)}"
        target, file = self.pick(*TARGETS), self.pick(*FILES)
        name, rest = self.pick(
            f"cp {file} {target}", f"cp {file} sub", f"mv {file} {target}", f"rm {file}", "rm -r sub", f"touch {target}", f"mkdir -p {target}/m",
            f"tee {target}", f"tee -a {target}", f"sort -o {target} {file}", f"sort {file}", f"cat {file}", f"truncate -s 0 {target}",
            f"ln -s {file} n0", f"ln {file} n0", f"dd if=a of={target}", f"sed -i s/x/y/ {file}", f"sed s/x/y/ {file}", f"chmod 600 {file}",
            f"install {file} {target}", "rm *.txt", f"cp *.txt sub {self.pick('', '-v')}", f"uniq {file} {target}", f"touch {target} {self.word(0)}",
            "find . -name '*.txt' -delete", "find sub -type f -exec rm {} +", "find . -name a -exec foo {} \\;", "ls -a", "cp -t sub a b", "mv a b sub",
            f"tar cf {target} sub", "mkdir -p sub/{x,y}", f"head -1 {file}", "rmdir sub/empty", f"split a {target}", f"tee {target} n1",
        ).split(" ", 1) if self.chance(0.97) else ("pwd", "")  # fmt: skip
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
        return self.pick(*WORDS)

    def redirects(self, share: float) -> str:
        made = ""
        while self.chance(share):
            target = self.pick(*TARGETS)
            made += " " + self.pick(
                f"> {target}", f">{target}", f">> {target}", f"2> {target}", f"&> {target}", f">| {target}", "2>&1", "> /dev/null", "2>/dev/null",
                "< a", ">&2", f"&>> {target}", f"3> {target}", f">& {target}", f"<> {target}",
            )  # fmt: skip
        return made


def quoted(text: str) -> str:
    """In single quotes, as bash wants it."""
    return "'" + text.replace("'", "'\\''") + "'"
