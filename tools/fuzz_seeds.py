#!/usr/bin/env python3
"""Fills fuzz/corpus with the inputs of the test vectors, so that fuzzing begins with what a real file looks like."""
import hashlib
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"


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


def main() -> None:
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


if __name__ == "__main__":
    main()
