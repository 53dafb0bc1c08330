"""An MCP server of nothing but Python's own library, up to 2025-11-25, over standard input and output: `python -I -S bare.py [mute]`;
with `modern` up to 2026-07-28; with `http PORT` over HTTP, where each start of it has forgotten the sessions of the one before.

A process of its own that starts in a few hundredths of a second, and that misbehaves when asked to.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

TOOLS = ("say", "pid", "die", "fork", "environment", "flood", "hang", "babble", "write")

MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What results of 2026-07-28 say of themselves."""

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
        case "pid":
            return text(f"{os.getpid()}")
        case "die":
            sys.stderr.write(f"out of paper{os.environ.get('SHOWN', '')}\n")
            sys.stderr.flush()
            os._exit(3)
        case "fork":
            one = subprocess.Popen([sys.executable, "-I", "-S", "-c", DETACHED], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
            assert one.stdout is not None
            return text(f"{os.getpid()} {one.stdout.readline().decode().strip()}")
        case "environment":
            # Backwards: as it is, Remit takes out what is a secret.
            given = {name: value[::-1] for name, value in os.environ.items()}
            return {**text(""), "structuredContent": {"environment": given, "cwd": os.getcwd()}}
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
        case "server/discover":
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
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


def told_of(request: dict[str, Any]) -> dict[str, Any] | None:
    """The message that answers; None: nothing ever does."""
    if request["method"] == "server/discover" and "modern" not in sys.argv:
        told: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
    elif (result := answer(request)) is None:
        return None
    else:
        told = {"result": {**result, **MODERN} if "modern" in sys.argv else result}
    return {"jsonrpc": "2.0", "id": request["id"], **told}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "mute" in sys.argv:
            continue
        if (told := told_of(request)) is None:
            continue
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    if "stay" in sys.argv:
        time.sleep(3600)


def answered(request: dict[str, Any], of_session: bool) -> tuple[int, dict[str, Any] | None]:
    """The status of HTTP, and the message that answers. 0: nothing ever does."""
    if not of_session and "modern" not in sys.argv and request["method"] not in ("initialize", "server/discover"):
        return 404, None
    if "id" not in request:
        return 202, None
    told = told_of(request)
    return (0, None) if told is None else (200, told)


def handling(base: Any, session: str) -> Any:
    """What answers requests over HTTP, for whoever has this session or asks for one."""

    class Handler(base):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.told(405, None)

        do_DELETE = do_GET

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, told = answered(request, self.headers.get("mcp-session-id") == session)
            if status:
                self.told(status, told)
            else:
                self.rfile.read(1)  # until whoever asked has gone
                self.close_connection = True

        def told(self, status: int, told: dict[str, Any] | None) -> None:
            body = b"" if told is None else json.dumps(told).encode()
            self.send_response(status)
            if told is not None:
                self.send_header("content-type", "application/json")
                self.send_header("mcp-session-id", session)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def serve(port: int) -> None:
    """Over HTTP, until it is killed. It says its port once it listens."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # noqa: PLC0415 - takes long, and only this needs it

    server = ThreadingHTTPServer(("127.0.0.1", port), handling(BaseHTTPRequestHandler, f"of-process-{os.getpid()}"))
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    if "http" in sys.argv:
        serve(int(sys.argv[sys.argv.index("http") + 1]))
    else:
        main()
