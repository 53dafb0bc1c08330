"""The few Linux calls that Python has no names for, and nothing else: Landlock, seccomp, capabilities of one thread.

All act on the calling thread alone. Linux only; numbers are those of x86-64 and of the table that newer machines share.
"""

import ctypes
import os
import platform
from ctypes import c_int32, c_uint8, c_uint16, c_uint32, c_uint64, c_ulong, c_void_p
from typing import ClassVar

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_LANDLOCK_CREATE = 444
_LANDLOCK_ADD = 445
_LANDLOCK_RESTRICT = 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_CAPABILITY_VERSION = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}


class _RulesetAttributes(ctypes.Structure):
    _fields_: ClassVar = [("handled_fs", c_uint64), ("handled_net", c_uint64), ("scoped", c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_: ClassVar = 1
    _fields_: ClassVar = [("allowed", c_uint64), ("parent", c_int32)]


class _Instruction(ctypes.Structure):
    _fields_: ClassVar = [("code", c_uint16), ("jump_true", c_uint8), ("jump_false", c_uint8), ("value", c_uint32)]


class _Program(ctypes.Structure):
    _fields_: ClassVar = [("length", c_uint16), ("instructions", c_void_p)]


class _CapabilityHeader(ctypes.Structure):
    _fields_: ClassVar = [("version", c_uint32), ("pid", c_int32)]


class _CapabilitySets(ctypes.Structure):
    _fields_: ClassVar = [("effective", c_uint32), ("permitted", c_uint32), ("inheritable", c_uint32)]


def machine() -> str:
    """The kind of processor: `x86_64`, `aarch64` and so on."""
    return platform.machine()


def landlock_version() -> int:
    """The kernel's Landlock, 1 or higher; 0: it has none, or it is switched off."""
    try:
        return _call(_LANDLOCK_CREATE, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def landlock_ruleset(files: int, network: int, scoped: int) -> int:
    """A new set of rules that handles these rights. Returns its descriptor."""
    attributes = _RulesetAttributes(files, network, scoped)
    # Older kernels know a shorter structure and refuse a longer one only if what they do not know is set.
    return _call(_LANDLOCK_CREATE, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)


def landlock_allow(ruleset: int, path: int, rights: int) -> None:
    """Allow these rights below an open path."""
    beneath = _PathBeneath(rights, path)
    _call(_LANDLOCK_ADD, ruleset, _RULE_PATH_BENEATH, ctypes.byref(beneath), 0)


def landlock_restrict(ruleset: int) -> None:
    """Hold the calling thread, and all that it starts, to the rules. For good."""
    _call(_LANDLOCK_RESTRICT, ruleset, 0)


def no_new_privileges() -> None:
    """From now on no program that this thread starts gains anything by its file: set-id bits, capabilities."""
    _control(_PR_SET_NO_NEW_PRIVS, 1, 0)


def drop_capabilities() -> None:
    """Give up root's powers in the calling thread. What it starts cannot have them back after `no_new_privileges`."""
    header = _CapabilityHeader(_CAPABILITY_VERSION, 0)
    sets = (_CapabilitySets * 2)()
    _call(_CAPSET[machine()], ctypes.byref(header), ctypes.byref(sets))


def filter_calls(program: list[tuple[int, int, int, int]]) -> None:
    """Put a filter of system calls on the calling thread and all that it starts. For good."""
    instructions = (_Instruction * len(program))(*program)
    whole = _Program(len(program), ctypes.addressof(instructions))
    _control(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(whole))


def _call(number: int, *arguments: object) -> int:
    result = _LIBC.syscall(c_ulong(number), *(c_ulong(each) if isinstance(each, int) else each for each in arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def _control(option: int, second: int, third: int) -> None:
    if _LIBC.prctl(option, c_ulong(second), c_ulong(third), c_ulong(0), c_ulong(0)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


_LIBC = ctypes.CDLL(None, use_errno=True)
