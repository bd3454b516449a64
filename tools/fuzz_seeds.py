#!/usr/bin/env python3
"""Between fuzz/corpus, where fuzzing works, and what is kept in this repository.

    fuzz_seeds.py                 fill fuzz/corpus with the inputs of the test vectors and with those that were kept
    fuzz_seeds.py keep TARGET     keep the inputs in fuzz/smallest/TARGET
"""
import base64
import hashlib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
KEPT = ROOT / "tests" / "foreign_bytes" / "kept"


def seed(target: str, data: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ("seed-" + hashlib.sha256(data).hexdigest()[:16])).write_bytes(data)


def texts(value, key: str):
    """Every text under `key`, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key and isinstance(inner, str):
                yield inner
            yield from texts(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, key)


def vectors(folder: str):
    for file in sorted((ROOT / "tests" / "vectors" / folder).glob("*.json")):
        yield json.loads(file.read_text(encoding="utf-8"))


def keep(target: str) -> None:
    inputs = sorted((file.read_bytes() for file in (ROOT / "fuzz" / "smallest" / target).iterdir()), key=lambda b: (len(b), b))
    KEPT.mkdir(exist_ok=True)
    lines = "".join(base64.b64encode(data).decode() + "\n" for data in inputs)
    (KEPT / f"{target}.txt").write_text(lines, encoding="ascii")


def fill() -> None:
    for file in KEPT.glob("*.txt"):
        for line in file.read_text(encoding="ascii").splitlines():
            seed(file.stem, base64.b64decode(line))
    for vector in vectors("contract"):
        for text in texts(vector, "networkYaml"):
            seed("network", text.encode())
        for text in texts(vector, "resultFile"):
            seed("result", b"\0" + text.encode())
    for vector in vectors("ksql"):
        for text in texts(vector, "sql"):
            seed("script", text.encode())
    field = {"value": "1"}
    for kind, more in {
        "NETWORK_RUN": ["run_id", "network_id", "business_key", "status", "lifecycle_status", "profile_snapshot"],
        "NODE_STATE": ["run_id", "node_id", "job_id", "status", "latest_attempt_no", "idempotent", "blocked_by"],
        "NODE_ATTEMPT": ["run_id", "node_id", "attempt_id", "attempt_no", "status", "state_revision_before"],
        "NETWORK_LOCK": ["lock_key", "owner_invocation_id", "lease_token", "lease_expires_at", "status"],
        "ATTEMPT_RESOLUTION": ["attempt_id", "resolved_outcome", "reason", "resolved_at"],
    }.items():
        record = {"$id": field, "$revision": field, "record_key": field, "record_type": {"value": kind}}
        record |= {name: field for name in more}
        seed("kintone_record", json.dumps(record).encode())
    error = {"code": "CB_VA01", "id": "x", "message": "m", "errors": {"record[a].value": {"messages": ["b"]}}}
    seed("kintone_error", json.dumps(error).encode())
    seed("kintone_error", json.dumps({"results": [{}, error]}).encode())
    hold = {"state": "REQUESTED", "requested_by": "p", "reason": "r", "requested_at": "t", "accepted_at": None,
            "released_at": None, "release_reason": None, "release_requested_by": None, "more": [1.5]}
    seed("hold", json.dumps(hold).encode())
    seed("hold", json.dumps(hold | {"state": "RELEASED"}).encode())
    profile = {"baseUrl": "https://example.cybozu.com", "apps": {"A": {"appId": 1, "token": "${T}"}}, "logApp": "A"}
    seed("config", json.dumps({"defaultProfile": "prod", "profiles": {"prod": profile}}).encode())
    seed("owner", b"host=h\nboot_id=b\npid_namespace=pid:[1]\npid=1\nstart_time=2\nowner=i\njob=3:4\n")
    empty_zip = b"PK\x05\x06" + bytes(18)
    seed("bundle", empty_zip)
    record = {"$id": field, "$revision": field, "text": field, "number": {"type": "NUMBER", "value": None},
              "list": {"value": ["a", "b"]}, "table": {"value": [{"id": "1", "value": {"t": {"value": [{"code": "u"}]}}}]}}
    seed("records_page", json.dumps({"records": [record, {}], "totalCount": "2"}).encode())
    form = {"a": {"type": "DROP_DOWN", "code": "a", "label": "A", "options": {"x": {"label": "x", "index": "0"}}},
            "t": {"type": "SUBTABLE", "code": "t", "fields": {"n": {"type": "NUMBER", "code": "n", "unique": False}}}}
    seed("records_page", json.dumps({"properties": form, "revision": "1"}).encode())
    seed("csv_file", '\ufeff名前,金額\r\n"a,""b",1\r\n'.encode())
    seed("csv_file", "名前,金額\r\nあ,1\r\n".encode("cp932"))
    head = "POST /k/v1/file.json?a=%41 HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n--b--\r\n'
    seed("sandbox_request", (head + f"Content-Length: {len(part)}\r\n\r\n" + part).encode())
    seed("sandbox_request", (head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").encode())
    seed("sandbox_request", 'a >= 1 and (b in ("x") or c like "y") order by $id asc limit 5 offset 0'.encode())


if __name__ == "__main__":
    if sys.argv[1:2] == ["keep"]:
        keep(sys.argv[2])
    else:
        fill()
