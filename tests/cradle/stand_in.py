"""What is started in the place of a process that the cradle makes: it hands over its streams, passes signals on, and ends as that does.

Run with `-I -S` and nothing loaded that can be done without: `stand_in.py SOCKET pipes|terminal MODULE ARGUMENTS…`.
"""

import _socket as socket
import os
import signal
import sys

wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
wire.connect(sys.argv[1])


def pass_on(number: int, _: object) -> None:
    wire.send(bytes([number]))


for caught in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(caught, pass_on)
parts = [os.getcwd(), str(len(sys.argv)), *sys.argv[2:], *(f"{name}={value}" for name, value in os.environ.items())]
told = b"\0".join(map(os.fsencode, parts))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
wire.sendmsg([len(told).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
wire.sendall(told)
nothing = os.open(os.devnull, os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(nothing, number)
ended = int.from_bytes(wire.recv(4), "big", signed=True)
if ended < 0:
    if -ended != signal.SIGKILL:
        signal.signal(-ended, signal.SIG_DFL)
    os.kill(os.getpid(), -ended)
os._exit(ended)
