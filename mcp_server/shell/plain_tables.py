"""What common programs do with their words. Data: a program's options and operands as roles, each with its source.

`harmless`: it writes nothing but what roles name. A program, or an option, that is not here has effects that are not known.
"""

from mcp_server.shell.options import Grammar, options

COREUTILS = "GNU coreutils manual"
POSIX = "POSIX.1-2017, Utilities"


def _g(
    operands: str, text: str, source: str, *, harmless: bool = True, sound: bool = False, numbers: bool = False, single: bool = False
) -> Grammar:
    return Grammar(
        operands=operands, options=options(text), harmless=harmless, sound=sound, numbers=numbers, single=single, source=source
    )  # fmt: skip


_SUMS = _g("R*", "-btcwqz --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn", COREUTILS)
_GREP = _g(
    "TR*",
    "-EFGPiyvwxcloqsbHhnTUzaIrRL -e:T -f:R -m:T -A:T -B:T -C:T -d:T -D:T --regexp:T --file:R --extended-regexp --fixed-strings "
    "--basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color --colour "
    "--files-without-match --files-with-matches --max-count:T --only-matching --quiet --silent --no-messages --byte-offset "
    "--with-filename --no-filename --label:T --line-number --initial-tab --null --after-context:T --before-context:T --context:T "
    "--text --binary-files:T --devices:T --directories:T --exclude:T --exclude-from:R --exclude-dir:T --include:T --recursive "
    "--dereference-recursive --line-buffered --null-data --binary",
    "GNU grep manual",
    numbers=True,
)

HARMLESS = {
    **dict.fromkeys(("true", "false", ":"), _g("T*", "", POSIX, sound=True)),
    "echo": _g("T*", "-neE", POSIX, sound=True),
    "pwd": _g("T*", "-LP", POSIX),
    **dict.fromkeys(("exit", "return", "break", "continue", "shift", "times", "umask", "wait", "jobs"), _g("T*", "-Sp -n", POSIX)),
    "set": _g("T*", "-euxo", "bash(1); other uses steer the shell"),
    "read": _g("T*", "-rse -d:T -n:T -N:T -p:T -t:T -u:T", "bash(1); the names it sets are looked at"),
    "type": _g("T*", "-afptP", "bash(1)"),
    "test": _g("T*", "-eq", POSIX),
    "sleep": _g("T*", "", COREUTILS, sound=True),
    "seq": _g("T*", "-w -f:T -s:T --format:T --separator:T --equal-width", COREUTILS, sound=True, numbers=True),
    "basename": _g("T*", "-az -s:T --multiple --suffix:T --zero", COREUTILS, sound=True),
    "dirname": _g("T*", "-z --zero", COREUTILS, sound=True),
    "realpath": _g(
        "F*",
        "-eELmPqsz --canonicalize-existing --canonicalize-missing --no-symlinks --relative-to:F --relative-base:F",
        COREUTILS,
    ),
    "readlink": _g("F*", "-femnqsvz --canonicalize --no-newline", COREUTILS),
    "whoami": _g("T*", "", COREUTILS),
    "id": _g("T*", "-aGgnruz", COREUTILS),
    "groups": _g("T*", "", COREUTILS),
    "uname": _g("T*", "-asnrvmpio --all", COREUTILS),
    "arch": _g("T*", "", COREUTILS),
    "nproc": _g("T*", "--all --ignore:T", COREUTILS),
    "hostname": _g("X*", "-dfisIA", "hostname(1); an operand sets the name"),
    "uptime": _g("T*", "-ps", "procps, uptime(1)"),
    "free": _g("T*", "-bkmghltw --human --total --wide", "procps, free(1)"),
    "ps": _g(
        "T*",
        "-AaefFjlrTuwxHhLMN -o:T -p:T -u:T -U:T -C:T -G:T -g:T --sort:T --no-headers --forest --pid:T --ppid:T",
        "procps, ps(1)",
    ),
    "printenv": _g("T*", "-0", COREUTILS),
    "date": _g("T*", "-uR -d:T -f:R -I -r:F --date:T --utc --universal --rfc-email --iso-8601 --rfc-3339:T --reference:F", COREUTILS),
    "tty": _g("T*", "-s", COREUTILS),
    "locale": _g("T*", "-ackm", POSIX),
    "getconf": _g("T*", "-a", POSIX),
    "which": _g("T*", "-as", "debianutils, which(1)"),
    "ls": _g(
        "F*",
        "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I:T -w:T -T:T --all --almost-all --author --color --classify --directory --escape "
        "--file-type --full-time --group-directories-first --human-readable --inode --no-group --numeric-uid-gid --recursive --reverse "
        "--size --sort:T --time:T --time-style:T --hide:T --ignore:T --ignore-backups --format:T --indicator-style:T --width:T --hyperlink",
        COREUTILS,
    ),
    "tree": _g(
        "F*",
        "-adflxpsuhgDQFiJrtcUNqACnv -L:T -P:T -I:T --noreport --prune --gitignore --dirsfirst --du --filelimit:T -o:W",
        "tree(1)",
    ),
    "stat": _g("F*", "-Lft -c:T --format:T --printf:T --dereference --file-system --terse", COREUTILS),
    "du": _g(
        "F*",
        "-0abcDhHklLmPsSx -B:T -d:T -t:T -X:R --all --apparent-size --total --human-readable --max-depth:T --summarize "
        "--si --exclude:T --exclude-from:R --one-file-system --block-size:T --threshold:T",
        COREUTILS,
    ),
    "df": _g(
        "F*",
        "-aBhHiklPTv -t:T -x:T --all --human-readable --inodes --local --print-type --total --type:T --exclude-type:T "
        "--output",
        COREUTILS,
    ),
    "file": _g(
        "R*",
        "-bhikLNprsvzZ0 -F:T -e:T -m:R -f:X --brief --mime --mime-type --mime-encoding --dereference --no-dereference "
        "--separator:T",
        "file(1)",
    ),
    "cat": _g(
        "R*",
        "-AbeEnstTuv --show-all --number --number-nonblank --show-ends --show-tabs --squeeze-blank --show-nonprinting",
        COREUTILS,
    ),
    "tac": _g("R*", "-br -s:T --before --regex --separator:T", COREUTILS),
    "rev": _g("R*", "-0", "util-linux, rev(1)"),
    "nl": _g("R*", "-p -b:T -d:T -f:T -h:T -i:T -l:T -n:T -s:T -v:T -w:T --body-numbering:T", COREUTILS),
    "head": _g("R*", "-qvz -n:T -c:T --lines:T --bytes:T --quiet --verbose", COREUTILS, numbers=True),
    "tail": _g("R*", "-qvzfFr -n:T -c:T -s:T --pid:T --lines:T --bytes:T --follow --retry --quiet --verbose", COREUTILS, numbers=True),
    "wc": _g("R*", "-cmlLw --bytes --chars --lines --words --max-line-length --total:T --files0-from:X", COREUTILS),
    "cut": _g(
        "R*",
        "-nsz -b:T -c:T -d:T -f:T --bytes:T --characters:T --delimiter:T --fields:T --complement --only-delimited "
        "--output-delimiter:T",
        COREUTILS,
    ),
    "paste": _g("R*", "-sz -d:T --delimiters:T --serial", COREUTILS),
    "join": _g("R*", "-iz -a:T -e:T -j:T -o:T -t:T -v:T -1:T -2:T --header --check-order --nocheck-order", COREUTILS),
    "comm": _g("R*", "-123z --check-order --nocheck-order --output-delimiter:T --total", COREUTILS),
    "tr": _g("T*", "-cCdst --complement --delete --squeeze-repeats --truncate-set1", COREUTILS),
    "sort": _g(
        "R*",
        "-bdfghiMnRrVcCmsuz -k:T -t:T -S:T -o:W -T:T --key:T --field-separator:T --output:W --compress-program:X --files0-from:X "
        "--random-source:R --numeric-sort --reverse --unique --human-numeric-sort --version-sort --stable --ignore-case --check "
        "--parallel:T --temporary-directory:T --buffer-size:T --sort:T --zero-terminated --batch-size:T --debug --merge",
        COREUTILS,
    ),
    "uniq": _g(
        "RW",
        "-cdDiuz -f:T -s:T -w:T --count --repeated --all-repeated --unique --ignore-case --skip-fields:T --skip-chars:T",
        COREUTILS,
    ),
    "shuf": _g("R*", "-erz -i:T -n:T -o:W --output:W --random-source:R --head-count:T --input-range:T --echo --repeat", COREUTILS),
    "fold": _g("R*", "-bs -w:T --width:T", COREUTILS),
    "fmt": _g("R*", "-cstu -w:T -p:T -g:T --width:T", COREUTILS),
    "expand": _g("R*", "-i -t:T --tabs:T", COREUTILS),
    "unexpand": _g("R*", "-a -t:T --all --tabs:T", COREUTILS),
    "column": _g("R*", "-tneLx -s:T -o:T -c:T -N:T -R:T -J --table --separator:T --output-separator:T", "util-linux, column(1)"),
    "od": _g("R*", "-abcdfiloxsv -A:T -j:T -N:T -t:T -w:T", COREUTILS),
    "hexdump": _g("R*", "-bcCdovx -e:T -n:T -s:T", "util-linux, hexdump(1)"),
    "xxd": _g("RW", "-abCeEipru -c:T -g:T -l:T -o:T -s:T", "xxd(1)"),
    "strings": _g("R*", "-afo -n:T -t:T -e:T --all --bytes:T --radix:T", "binutils, strings(1)"),
    "base64": _g("R*", "-di -w:T --decode --ignore-garbage --wrap:T", COREUTILS),
    **dict.fromkeys(("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"), _SUMS),
    "cksum": _g("R*", "-a:T --algorithm:T", COREUTILS),
    "cmp": _g("R*", "-bls -i:T -n:T --print-bytes --verbose --silent --quiet", "GNU diffutils manual"),
    "diff": _g(
        "D*",
        "-abBcdeEiNpqrstTuvwyZ -C:T -U:T -I:T -F:T -L:T -W:T -x:T -X:R --unified --context --brief --recursive --color --side-by-side "
        "--ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --label:T --exclude:T --exclude-from:R "
        "--new-file --report-identical-files --width:T --suppress-common-lines --strip-trailing-cr --text --from-file:D --to-file:D",
        "GNU diffutils manual",
        numbers=True,
    ),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _g(
        "TD*",
        "-iSsvwxclnNFUPoLhHIqaz0.u -e:T -f:R -g:T -A:T -B:T -C:T -t:T -T:T -m:T -M:T -d:T -r:T -j:T -E:T --files --hidden --no-ignore "
        "--no-ignore-vcs --iglob:T --glob:T --type:T --type-not:T --type-list --regexp:T --file:R --ignore-case "
        "--smart-case --case-sensitive "
        "--invert-match --word-regexp --count --count-matches --line-number --no-line-number --heading --no-heading --color:T --colors:T "
        "--context:T --after-context:T --before-context:T --max-count:T --max-depth:T --maxdepth:T --max-filesize:T --max-columns:T "
        "--multiline --multiline-dotall --only-matching --files-with-matches --files-without-match --fixed-strings --json --no-messages "
        "--null --pcre2 --replace:T --sort:T --sortr:T --stats --trim --vimgrep --with-filename --no-filename --column --pretty --text "
        "--passthru --debug --unrestricted --follow --pre:X --pre-glob:T --hostname-bin:X --search-zip --ignore-file:R --encoding:T",
        "ripgrep 15, rg --help",
    ),
    "fd": _g(
        "TF*",
        "-HIiasgFlLp0u1q -e:T -t:T -E:T -d:T -S:T -j:T -c:T -x:X -X:X --exec:X --exec-batch:X --hidden --no-ignore --extension:T --type:T "
        "--exclude:T --max-depth:T --min-depth:T --glob --fixed-strings --absolute-path --full-path --max-results:T --size:T "
        "--changed-within:T --changed-before:T --color:T --print0",
        "fd 10, fd --help",
    ),
    "jq": _g(
        "TR*",
        "-rRcnesSMCja -f:R --raw-output --raw-input --compact-output --null-input --exit-status --slurp --sort-keys --join-output "
        "--from-file:R --tab --indent:T --seq --stream --color-output --monochrome-output",
        "jq 1.7 manual; --arg and its like take two words and are not known here",
    ),
}  # fmt: skip
"""Programs that change nothing, with the options that keep it so."""

WRITERS = {
    "printf": _g("T*", "-v:X", POSIX, sound=True),
    "tee": _g("W*", "-aip --append --ignore-interrupts --output-error", COREUTILS),
    "touch": _g("W*", "-acmhf -d:T -t:T -r:F --no-create --date:T --reference:F --time:T --no-dereference", COREUTILS),
    "truncate": _g("W*", "-co -s:T -r:F --size:T --reference:F --no-create --io-blocks", COREUTILS),
    "mkdir": _g("W*", "-pvZ -m:T --parents --mode:T --verbose", COREUTILS),
    "rmdir": _g("W*", "-pv --parents --verbose --ignore-fail-on-non-empty", COREUTILS),
    "rm": _g(
        "W*",
        "-dfiIrRv --force --recursive --dir --verbose --interactive --one-file-system --preserve-root "
        "--no-preserve-root",
        COREUTILS,
    ),
    "unlink": _g("W*", "", COREUTILS),
    "shred": _g("W*", "-fuvxz -n:T -s:T --remove --zero --iterations:T", COREUTILS),
    "mkfifo": _g("W*", "-m:T --mode:T", COREUTILS),
    "mknod": _g("WT*", "-m:T --mode:T", COREUTILS),
    "chmod": _g("TW*", "-cfRvugorwxXst --changes --recursive --quiet --silent --verbose --reference:F --preserve-root", COREUTILS),
    "chown": _g("TW*", "-cfhHLPRv --recursive --verbose --from:T --reference:F --no-dereference", COREUTILS),
    "chgrp": _g("TW*", "-cfhHLPRv --recursive --verbose --reference:F --no-dereference", COREUTILS),
    "cp": _g(
        "D*W",
        "-abdfHilLnPpRrsTuvxZ -t:C -S:T --archive --backup --force --interactive --link --no-clobber --no-dereference --parents --preserve "
        "--recursive --remove-destination --symbolic-link --suffix:T --target-directory:C --no-target-directory --update --verbose "
        "--dereference --one-file-system --reflink --sparse:T --no-preserve:T --strip-trailing-slashes --copy-contents --attributes-only",
        COREUTILS,
    ),
    "mv": _g(
        "B*W",
        "-bfinTuvZ -t:C -S:T --backup --force --interactive --no-clobber --suffix:T --target-directory:C --no-target-directory --update "
        "--verbose --strip-trailing-slashes",
        COREUTILS,
    ),
    "ln": _g(
        "D*W",
        "-bfiLnPrsTvFd -t:C -S:T --backup --force --interactive --logical --no-dereference --physical --relative --symbolic "
        "--target-directory:C --no-target-directory --verbose",
        COREUTILS,
    ),
    "install": _g(
        "D*W",
        "-bcCdDpTvsZ -g:T -m:T -o:T -t:C -S:T --strip-program:X --mode:T --owner:T --group:T --target-directory:C "
        "--directory",
        COREUTILS,
    ),
    "split": _g("RX*", "-dexu -a:T -b:T -C:T -l:T -n:T -t:T --filter:X --additional-suffix:T", COREUTILS),
    **dict.fromkeys(
        ("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"),
        _g(
            "B*",
            "-cdfhklnNqrtvzT0123456789 -S:T --stdout --decompress --keep --force --fast --best --list --test --verbose "
            "--threads:T",
            "gzip(1), bzip2(1), xz(1), zstd(1)",
        ),
    ),
    "patch": _g(
        "BR*",
        "-bcEeflNnRstTuvZ -p:T -i:R -o:W -d:X -r:W -z:T -B:T -F:T --dry-run --input:R --output:W --strip:T --reverse",
        "GNU patch; an operand-less one writes what the patch names",
    ),
    "curl": _g(
        "U*",
        "-0aBfgGiIjklLMnNpqRsSvZ#46O -o:W -D:W -c:W -b:R -d:T -F:T -T:R -K:X -H:T -A:T -e:T -u:T -U:T -x:U -X:T -m:T -w:T -y:T -Y:T -z:T "
        "-E:R -r:T -C:T --output:W --output-dir:C --dump-header:W --cookie-jar:W --cookie:R --data:T --data-raw:T --data-binary:T "
        "--data-urlencode:T --form:T --upload-file:R --config:X --header:T --user-agent:T --referer:T --user:T --request:T --max-time:T "
        "--write-out:T --connect-timeout:T --retry:T --retry-delay:T --retry-all-errors --url:U --silent --show-error --fail "
        "--fail-with-body --location --include --head --insecure --compressed --remote-name --verbose --get --globoff --http1.1 --http2 "
        "--no-progress-meter --progress-bar --json:T --cacert:R --cert:R --key:R --create-dirs --max-redirs:T --ipv4 --ipv6",
        "curl 8, curl --help all",
    ),
    "wget": _g(
        "U*",
        "-cdqvSN46 -nv -nc -O:W -o:W -a:W -P:C -i:X -e:X -t:T -T:T -U:T --output-document:W --output-file:W --append-output:W "
        "--directory-prefix:C --input-file:X --execute:X --config:X --use-askpass:X --quiet --continue --timeout:T "
        "--tries:T --user-agent:T --header:T --post-data:T "
        "--post-file:R --no-verbose --no-check-certificate --show-progress --content-on-error --save-cookies:W --load-cookies:R "
        "--spider --server-response --max-redirect:T --method:T --body-data:T --body-file:R --progress:T",
        "GNU Wget 1.24 manual",
    ),
}  # fmt: skip
"""Programs that write, and what their words say of where."""
