"""An MCP server of nothing but Python's own library, up to 2025-11-25, over standard input and output: `python -I -S bare.py [mute]`.

A process of its own that starts in a few hundredths of a second, and that misbehaves when asked to.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

TOOLS = ("say", "die", "fork", "environment", "flood", "hang", "babble", "write")

DETACHED = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nprint(os.getpid(), flush=True)\nos.close(1)\ntime.sleep(3600)"


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def write(path: str) -> str:
    try:
        with open(path, "w") as file:
            file.write("x")
    except OSError as error:
        return error.strerror or ""
    return "written"


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    match name:
        case "say":
            return text(f"said {arguments.get('text', '')}")
        case "die":
            sys.stderr.write("out of paper\n")
            sys.stderr.flush()
            os._exit(3)
        case "fork":
            one = subprocess.Popen([sys.executable, "-I", "-S", "-c", DETACHED], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
            assert one.stdout is not None
            return text(f"{os.getpid()} {one.stdout.readline().decode().strip()}")
        case "environment":
            return {**text(""), "structuredContent": {"environment": dict(os.environ), "cwd": os.getcwd()}}
        case "flood" | "babble":
            sys.stdout.write("this is no JSON\n\n" if name == "babble" else "")
            return text("x" * int(arguments["bytes"]) if name == "flood" else "babbled")
        case "write":
            return text(write(arguments["path"]))
        case _:
            return None


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    """The result; None: it is never answered."""
    match request["method"]:
        case "initialize":
            info = {"name": "bare", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            schema = {"type": "object"}
            return {"tools": [{"name": name, "description": f"The tool {name}.", "inputSchema": schema} for name in TOOLS]}
        case "tools/call":
            return call(request["params"]["name"], request["params"].get("arguments", {}))
        case _:
            return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "mute" in sys.argv:
            continue
        if request["method"] == "server/discover":
            told: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
        elif (result := answer(request)) is None:
            continue
        else:
            told = {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **told}) + "\n")
        sys.stdout.flush()
    if "stay" in sys.argv:
        time.sleep(3600)


if __name__ == "__main__":
    main()
