#!/usr/bin/env python3
"""What is inside the static programs, told twice for `make dist`: an SBOM and the licence texts.

    inventory.py FOLDER --compiler "rustc 1.2.3 (...)" --date 2026-11-30 --program PATH...
                 --notice NAME=FILE...

Writes FOLDER/sbom.cdx.json (CycloneDX 1.5) and FOLDER/licences/. Asks `cargo metadata`, reads Cargo.lock and the
sources that cargo has unpacked. The same input gives the same bytes.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

TARGET = "x86_64-unknown-linux-musl"
LICENCE_FILE = re.compile(r"(LICEN[CS]E|COPY|NOTICE|UNLICENSE|AUTHORS)", re.IGNORECASE)


def metadata(*options):
    """cargo's view of the packages for the released target."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version=1", "--locked"]
    result = subprocess.run(command + [f"--filter-platform={TARGET}", *options], stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)


class Graph:
    """The packages that the released build reaches from the project: linked ones, and those that only build it."""

    def __init__(self, view):
        self.packages = {package["id"]: package for package in view["packages"]}
        self.nodes = {node["id"]: node for node in view["resolve"]["nodes"]}
        self.root = view["resolve"]["root"]
        self.linked = self.reach({None})
        self.all = self.reach({None, "build"})

    def reach(self, kinds):
        """Ids reached over dependencies of these kinds; with {None} alone a procedural macro and what is below it
        stays out, since it runs in the compiler."""
        seen, waiting = set(), [self.root]
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            waiting += [other for other in self.edges(one, kinds) if kinds != {None} or not self.is_macro(other)]
        return seen - {self.root}

    def edges(self, one, kinds):
        found = [d["pkg"] for d in self.nodes[one]["deps"] if any(kind["kind"] in kinds for kind in d["dep_kinds"])]
        return sorted(set(found))

    def is_macro(self, one):
        return any("proc-macro" in target["kind"] for target in self.packages[one]["targets"])


def licence_of(package):
    """The licence expression in today's spelling ("A/B" is how old packages say "A OR B")."""
    return package["license"].replace("/", " OR ")


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums, linked, small):
    tier = "control plane" if small else "runner and sandbox"
    entry = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "scope": "required" if linked else "excluded",
        "hashes": [{"alg": "SHA-256", "content": checksums[package["name"], package["version"]]}],
        "licenses": [{"expression": licence_of(package)}],
        "purl": purl(package),
        "properties": [{"name": "ksql-flownet:tier", "value": tier}],
    }
    if package.get("repository"):
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def sbom(full, small, options, checksums):
    root = full.packages[full.root]
    programs = [
        {
            "type": "file",
            "bom-ref": f"program:{path.name}",
            "name": path.name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        }
        for path in sorted(options.program)
    ]
    # What comes with the compiler and is linked as well.
    runtime = [
        {"type": "library", "bom-ref": "runtime:rust-std", "name": "rust-std", "version": options.compiler.split()[1],
         "scope": "required", "licenses": [{"expression": "MIT OR Apache-2.0"}]},
        {"type": "library", "bom-ref": "runtime:musl", "name": "musl", "scope": "required",
         "licenses": [{"expression": "MIT"}]},
    ]
    crates = [
        component(full.packages[one], checksums, one in full.linked, one in small.all)
        for one in sorted(full.all, key=lambda one: purl(full.packages[one]))
    ]
    edges = [
        {"ref": purl(full.packages[one]),
         "dependsOn": sorted(purl(full.packages[other]) for other in full.edges(one, {None, "build"}))}
        for one in sorted(full.all | {full.root}, key=lambda one: purl(full.packages[one]))
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": f"{options.date}T00:00:00Z",
            "tools": {"components": [{"type": "application", "name": "rustc", "version": options.compiler}]},
            "component": {
                "type": "application",
                "bom-ref": purl(root),
                "name": root["name"],
                "version": root["version"],
                "licenses": [{"expression": root["license"]}],
                "components": programs,
            },
        },
        "components": runtime + crates,
        "dependencies": edges,
    }
    # Named by its content, so that the same build has the same serial number.
    content = json.dumps(document, sort_keys=True)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, content)
    return {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "serialNumber": f"urn:uuid:{serial}", **document}


def write_licences(folder, full, notices):
    """One folder for each linked package with the files that it ships; a package without any stops the release."""
    lines = []
    for one in sorted(full.linked, key=lambda one: purl(full.packages[one])):
        package = full.packages[one]
        source = pathlib.Path(package["manifest_path"]).parent
        texts = sorted(path for path in source.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
        if not texts:
            sys.exit(f"inventory: {package['name']} {package['version']} ships no licence text; add it by hand")
        name = f"{package['name']}-{package['version']}"
        (folder / name).mkdir(parents=True)
        for text in texts:
            (folder / name / text.name).write_bytes(text.read_bytes())
        lines.append(f"{name}: {licence_of(package)}")
    for notice in notices:
        name, _, file = notice.partition("=")
        (folder / name).mkdir(parents=True)
        (folder / name / pathlib.Path(file).name).write_bytes(pathlib.Path(file).read_bytes())
        lines.append(f"{name}: comes with the compiler; see its notice")
    (folder / "INDEX").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--date", required=True)
    parser.add_argument("--program", nargs="+", type=pathlib.Path, required=True)
    parser.add_argument("--notice", nargs="*", default=[])
    options = parser.parse_args()

    full, small = Graph(metadata()), Graph(metadata("--no-default-features"))
    lock = tomllib.loads(pathlib.Path("Cargo.lock").read_text())
    checksums = {(p["name"], p["version"]): p["checksum"] for p in lock["package"] if "checksum" in p}
    document = sbom(full, small, options, checksums)
    (options.folder / "sbom.cdx.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    write_licences(options.folder / "licences", full, options.notice)


if __name__ == "__main__":
    main()
