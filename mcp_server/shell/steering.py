"""Builtins that change what the rest of a line means. Data; source: bash(1), *Shell Builtin Commands*."""

from mcp_server.shell.words import named

MOVING = frozenset({"cd", "pushd", "popd"})
"""Change the folder. They are followed and are no commands of their own."""

STEERING = named(
    ". source eval alias unalias enable hash shopt set trap let declare typeset local readonly mapfile readarray getopts coproc "
    "bind complete compgen compopt history fc dirs disown suspend logout caller"
)
"""Run text as commands, or make words, names and variables mean something else."""

HARMLESS_SET = named("-e -u -x -o pipefail -eu -eux -euo -euxo -ex -exo -eo -uo errexit nounset +e +x +u")
"""What scripts begin with: stop at errors, show what is run."""
