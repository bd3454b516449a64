"""Measures ksql-flownet, ksql-flow and the original as whole processes against kintone-sandbox (called by bench.sh)."""
import argparse, json, os, re, shutil, statistics, subprocess, sys, tempfile, threading, time, urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
parser.add_argument("--runner", required=True)
parser.add_argument("--original", default="")
parser.add_argument("--orders", type=int, default=100_000)
parser.add_argument("--many-orders", type=int, default=1_000_000, help="0 leaves the large job out")
options = parser.parse_args()
BIN, RUNNER = os.path.abspath(options.bin), os.path.abspath(options.runner)
FLOWNET, FLOW, SANDBOX = (os.path.join(BIN, p) for p in ("ksql-flownet", "ksql-flow", "kintone-sandbox"))
ORIGINAL = ["node", options.original] if options.original else None


class Sandbox:
    """A seeded sandbox on a free port."""

    def __init__(self, folder, *seed):
        self.folder = os.path.join(folder, "kintone")
        subprocess.run([SANDBOX, "seed", "--dir", self.folder, *seed], check=True)
        self.process = subprocess.Popen(
            [SANDBOX, "serve", "--apps", f"{self.folder}/apps.json", "--data", f"{self.folder}/data", "--port", "0",
             "--control"], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.env = {"PATH": os.environ["PATH"], "KSQL_FLOWNET_REQUESTED_BY": "bench", "KSQL_FLOWNET_PROFILE": "bench"}
        with open(f"{self.folder}/sandbox.env") as lines:
            for line in lines:
                found = re.match(r"export (\w+)=(.*)", line)
                if found:
                    self.env[found[1]] = found[2]
        self.env["KSQL_FLOWNET_BASE_URL"] = self.url

    def control(self, method, name, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.url}/_control/{name}", data=data, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def requests(self):
        return self.control("GET", "counters")["total"]

    def close(self):
        self.process.terminate()
        self.process.wait()


def measure(command, env, cwd, expected=(0,)):
    """Wall seconds, CPU seconds with all children, peak MiB of the process itself, output."""
    begun = time.monotonic()
    process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    peak = [0]

    def watch():
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status") as status:
                    found = re.search(r"VmHWM:\s+(\d+)", status.read())
                    peak[0] = max(peak[0], int(found[1]) if found else 0)
            except OSError:
                return
            time.sleep(0.002)

    before = os.times()
    watcher = threading.Thread(target=watch)
    watcher.start()
    out, err = process.communicate()
    watcher.join()
    after = os.times()
    wall = time.monotonic() - begun
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    if process.returncode not in expected:
        sys.exit(f"{command} exited with {process.returncode}:\n{out.decode()}{err.decode()}")
    return wall, cpu, peak[0] / 1024, out.decode() + err.decode(), process.returncode


def network(folder, name, count):
    """A chain of nodes whose jobs do nothing."""
    path = os.path.join(folder, name)
    os.makedirs(f"{path}/jobs")
    lines = [f"schema_version: 1\nnetwork_id: {name}\nbusiness_key_policy:\n  type: explicit\nmax_active_runs: 9\n"
             "network_lock:\n  lease_duration_sec: 900\n  heartbeat_interval_sec: 300\nnodes:\n"]
    for i in range(count):
        after = f"n{i - 1:03}" if i else ""
        lines.append(f"  - id: n{i:03}\n    job_id: {name}_n{i:03}\n    sql: jobs/n{i:03}.sql\n    depends_on: [{after}]\n"
                     "    trigger_rule: all_success\n    idempotent: true\n")
        with open(f"{path}/jobs/n{i:03}.sql", "w") as job:
            job.write(f"-- @ksql name: {name}_n{i:03}\nSELECT 1;\n")
    with open(f"{path}/network.yaml", "w") as file:
        file.write("".join(lines))
    return path


def row(*cells):
    print("  {:<34} {:>9} {:>9} {:>9} {:>9}  {}".format(*cells))


def control_plane(folder):
    sandbox = Sandbox(folder, "--orders", "1")
    print("\nControl plane: NEW Run of N nodes (limit for ours: 9 + 4N requests)")
    row("", "requests", "wall s", "CPU s *", "peak MiB", "")
    for count in (3, 20, 150):
        programs = [("ours", [FLOWNET])] + ([("original", ORIGINAL)] if ORIGINAL else [])
        for who, program in programs:
            path = network(folder, f"{who}_{count}", count)
            env = dict(sandbox.env, KSQL_FLOW_BIN=RUNNER, KSQL_FLOW_CONFIG=f"{path}/none.json",
                       KSQL_FLOW_WORKDIR=f"{path}/work", SCRIPTED_RUNNER_DIR=path)
            sandbox.control("DELETE", "log")
            wall, cpu, peak, said, code = measure(program + ["run-network", f"{path}/network.yaml", "--business-key",
                                                             "k"], env, path, expected=(0, 1))
            log = sandbox.control("GET", "log")["requests"]
            runners = sum(1 for r in log if r["apps"] == [4] and r["method"] != "GET")
            note = "" if code == 0 else "FAILED: " + said.strip().splitlines()[0][:60]
            row(f"{count} nodes, {who}", len(log) - runners, f"{wall:.2f}", f"{cpu:.2f}", f"{peak:.1f}", note)
            if who == "ours" and (code != 0 or len(log) - runners > 9 + 4 * count):
                sys.exit("bench: ours does not keep its limit")
    print("  * with the jobs' processes")
    print("\nStart-up: --version, 50 times")
    row("", "best ms", "median", "", "peak MiB", "")
    for who, program in [("ours", [FLOWNET])] + ([("original", ORIGINAL)] if ORIGINAL else []):
        times, peaks = [], []
        for _ in range(50):
            wall, _, peak, _, _ = measure(program + ["--version"], sandbox.env, folder)
            times.append(wall * 1000)
            peaks.append(peak)
        row(who, f"{min(times):.1f}", f"{statistics.median(times):.1f}", "", f"{max(peaks):.1f}", "")
    sandbox.close()


def runner(folder, orders, latency_ms, title):
    sandbox = Sandbox(folder, "--orders", str(orders), "--customers", "10000")
    example = os.path.abspath("examples/monthly_summary")
    with open(f"{example}/ksql.config.json") as file:
        config = json.load(file)
    config["profiles"]["demo"]["limits"].update(maxReadRows=200000, maxTempRows=100000)
    with open(f"{folder}/ksql.config.json", "w") as file:
        json.dump(config, file)
    job = f"{folder}/grouped.sql"
    with open(job, "w") as file:
        file.write("-- @ksql name: grouped\n-- @ksql dialect: 1\nCREATE TEMP TABLE summary AS\n"
                   "  SELECT 顧客コード, COUNT(*) AS 件数, SUM(金額) AS 合計 FROM LAPP_受注 GROUP BY 顧客コード;\n"
                   "UPSERT INTO LAPP_顧客マスタ (顧客コード, 当月受注件数, 当月売上実績, 最終集計日時)\n"
                   "  SELECT 顧客コード, 件数, 合計, @NOW() FROM summary KEY (顧客コード);\n")
    if latency_ms:
        sandbox.control("POST", "latency", {"ms": latency_ms})
    sandbox.control("DELETE", "log")
    wall, cpu, peak, _, _ = measure([FLOW, "run", "-f", job, "--profile", "demo", "--config",
                                     f"{folder}/ksql.config.json"], sandbox.env, folder)
    requests = sandbox.requests()
    # What four requests at once can reach at best, computing aside.
    note = f"requests x latency / 4 = {requests * latency_ms / 4000:.2f} s" if latency_ms else ""
    row(title, requests, f"{wall:.2f}", f"{cpu:.2f}", f"{peak:.1f}", note)
    sandbox.close()


def in_folder(work, *arguments):
    folder = tempfile.mkdtemp()
    try:
        work(folder, *arguments)
    finally:
        shutil.rmtree(folder)


in_folder(control_plane)
print("\nRunner: all orders grouped into 10,000 customers, UPSERT (published of the original: 199 s, 511 requests, 260 MB)")
row("", "requests", "wall s", "CPU s", "peak MiB", "")
in_folder(runner, options.orders, 0, f"{options.orders:,} orders")
in_folder(runner, options.orders, 50, f"{options.orders:,} orders, 50 ms latency")
if options.many_orders:
    in_folder(runner, options.many_orders, 0, f"{options.many_orders:,} orders")
