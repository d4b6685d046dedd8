"""Folders of tiny random models, and a small server that speaks the part of the Hub's protocol that a download uses."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import tiny

COMMIT = "c0ffee" + "0" * 34


def write_model(folder: Path, family: str = "llama", **options: Any) -> Path:
    """Write a tiny random model with its tokenizer, as save_pretrained does."""
    tiny.make_model(family, **options).save_pretrained(folder)
    tiny.byte_level_tokenizer().save_pretrained(folder)
    return folder


def write_adapter(folder: Path, base: str, *, seed: int = 1, scale: float = 0.5) -> Path:
    """Write a random, non-zero LoRA adapter for the tiny llama, said to be trained on `base`."""
    import torch
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(tiny.make_model(), LoraConfig(r=2, target_modules=["q_proj", "v_proj"], lora_alpha=4))
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name:
                weight.normal_(0, scale)
    model.save_pretrained(folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": base}))
    return folder


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


class HubHandler(BaseHTTPRequestHandler):
    """Serves `repos` (id to folder) and `refusals` (id to status and headers), and notes what was asked for."""

    repos: dict[str, Path]
    refusals: dict[str, tuple[int, dict[str, str]]]
    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *arguments: Any) -> None:
        pass

    def _answer(self) -> None:
        path = unquote(urlparse(self.path).path).removeprefix("/api/models").strip("/")
        repo, rest = "/".join(path.split("/")[:2]), path.split("/")[2:]
        self.asked.append(path)
        if repo in self.refusals:
            return self._send(self.refusals[repo][0], b"{}", self.refusals[repo][1])
        if repo not in self.repos:
            return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        if rest[:1] == ["resolve"]:
            data = (self.repos[repo] / rest[-1]).read_bytes()
            return self._send(200, data, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT})
        if rest[:1] == ["tree"]:
            return self._send(200, json.dumps([_entry(file) for file in sorted(self.repos[repo].iterdir())]).encode())
        if rest[:1] == ["revision"] and rest[1] not in ("main", COMMIT):
            return self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        return self._send(200, json.dumps({"_id": "1", "id": repo, "sha": COMMIT, "siblings": []}).encode())

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


def _entry(file: Path) -> dict[str, Any]:
    data = file.read_bytes()
    return {"type": "file", "path": file.name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}


@contextmanager
def hub_server(
    repos: dict[str, Path], refusals: dict[str, tuple[int, dict[str, str]]]
) -> Iterator[tuple[str, list[str]]]:
    """Run the server on this machine; yield its address and the growing list of paths that were asked for."""
    handler = type("Handler", (HubHandler,), {"repos": repos, "refusals": refusals, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
