"""System calls that a command held by Landlock must not make, as a program for the kernel's filter.

Pure. Landlock judges files that are opened; these are the ways round it: sockets, other processes' memory, kernel switches,
namespaces, and, where nothing may be written, the calls that change a file's mode, owner, times or attributes without opening it.
"""

import errno
from collections.abc import Iterable, Mapping, Sequence

Instruction = tuple[int, int, int, int]
"""Code, steps if true, steps if false, value."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""The bit of the second set of numbers that x86-64 has."""

_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
"""Where the parts of a call lie, in bytes; each argument takes 8, the lower half first."""

_NEW_USER_NAMESPACE = 0x10000000
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
"""Families of sockets."""

_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into a terminal that others read."""

_FILE_FLAGS = (0x40086602, 0x40046602, 0x401C5820)
"""FS_IOC_SETFLAGS, its 32-bit twin, FS_IOC_FSSETXATTR: attributes, on a file opened for reading."""

NEVER: Mapping[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "mount": (165, 40), "umount2": (166, 39), "move_mount": (429, 429), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "fanotify_init": (300, 262),
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "sethostname": (170, 161), "setdomainname": (171, 162),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "syslog": (103, 116),
    "vhangup": (153, 58), "iopl": (172, None), "ioperm": (173, None),
}  # fmt: skip
"""By name: the number on x86-64, and on the machines that share one table."""

METADATA: Mapping[str, tuple[int | None, int | None]] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}  # fmt: skip
"""What changes a file without opening it for writing."""

_SOCKET, _CLONE, _CLONE3, _IOCTL = (41, 198), (56, 220), (435, 435), (16, 29)


def machines() -> frozenset[str]:
    """Those whose numbers are known here."""
    return frozenset(_ARCHITECTURE)


def program(machine: str, *, network: bool, metadata: bool) -> list[Instruction]:
    """The filter. `network`: sockets of the internet may be had; `metadata`: modes, owners and times may be changed."""
    column = sorted(_ARCHITECTURE, reverse=True).index(machine)
    families = (INET, INET6, NETLINK) if network else ()
    refused = [*NEVER.values(), *(() if metadata else METADATA.values())]
    made: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, _ARCHITECTURE[machine]),
        _refuse(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        made += [(_AT_LEAST, 0, 1, _X32), _refuse(errno.ENOSYS)]
    made += _each([number[column] for number in refused], errno.EPERM)
    # Without the newer call programs fall back to the older one, whose flags a filter can read.
    made += _each([_CLONE3[column]], errno.ENOSYS)
    made += _when(_CLONE[column], [(_LOAD, 0, 0, _ARGUMENTS), (_ANY_BIT, 0, 1, _NEW_USER_NAMESPACE), _refuse(errno.EPERM), _allow()])
    made += _when(_SOCKET[column], _only(families))
    made += _when(_IOCTL[column], _none_of((*_TERMINAL, *(() if metadata else _FILE_FLAGS))))
    return [*made, _allow()]


def _refuse(number: int) -> Instruction:
    return (_RETURN, 0, 0, _REFUSE | number)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _each(numbers: Iterable[int | None], refusal: int) -> list[Instruction]:
    return [step for number in numbers if number is not None for step in ((_EQUAL, 0, 1, number), _refuse(refusal))]


def _when(number: int, steps: Sequence[Instruction]) -> list[Instruction]:
    """The steps, which must end in an answer, for one call alone."""
    return [(_EQUAL, 0, len(steps), number), *steps]


def _only(families: Sequence[int]) -> list[Instruction]:
    chosen = [step for family in families for step in ((_EQUAL, 0, 1, family), _allow())]
    return [(_LOAD, 0, 0, _ARGUMENTS), *chosen, _refuse(errno.EACCES)]


def _none_of(requests: Sequence[int]) -> list[Instruction]:
    refused = [step for request in requests for step in ((_EQUAL, 0, 1, request), _refuse(errno.EPERM))]
    return [(_LOAD, 0, 0, _ARGUMENTS + 8), *refused, _allow()]
