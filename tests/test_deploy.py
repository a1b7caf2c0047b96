"""The files of `deploy/`, checked as far as that is possible where none of the services runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from catchment.bootstrap import open_system
from catchment.domain.alert_rules import Severity
from catchment.settings import Settings, _known_variables
from catchment.web.metrics import Metrics, read_numbers

pytestmark = pytest.mark.proves("H-06")

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
COMPOSE = sorted(DEPLOY.glob("compose*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
#: What the image is told of its own, and the secrets that PostgreSQL's image reads.
NOT_OURS = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


def run(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=100, **options)


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def assert_are_settings(names: set[str]) -> None:
    assert names
    assert names - NOT_OURS <= _known_variables("")


def seconds(text: str | int) -> float:
    return float(str(text).removesuffix("s"))


# The image


def dockerfile() -> str:
    return (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


def test_the_image_names_settings_that_exist_and_another_user_than_root():
    environment = re.search(r"^ENV (.+)$", dockerfile(), re.MULTILINE)
    assert environment is not None
    assert_are_settings(set(re.findall(r"(\w+)=", environment[1])))
    users = re.findall(r"^USER (\d+):", dockerfile(), re.MULTILINE)
    assert users == ["10001"]
    assert "EXPOSE 8767" in dockerfile()
    assert Settings().port == 8767


def test_what_the_image_copies_is_sent_to_it():
    copied = [re.split(r"\s+", line)[:-1] for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile(), re.MULTILINE)]
    named = {name for line in copied for name in line}
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert named == sent
    assert all((ROOT / name).exists() for name in named)


# Compose


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_compose_files_are_as_their_schema_wants_them(file):
    pytest.importorskip("check_jsonschema")
    checked = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", file)
    assert checked.returncode == 0, checked.stdout


def services_of(file: Path) -> dict[str, Any]:
    described = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {name: service for name, service in described["services"].items() if service["image"] == "catchment"}


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_compose_files_refer_to_what_they_declare(file):
    described = yaml.safe_load(file.read_text(encoding="utf-8"))
    for service in described["services"].values():
        assert set(service.get("secrets", [])) <= described["secrets"].keys()
        for name, value in service.get("environment", {}).items():
            if name.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"]
        volumes = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert volumes <= described["volumes"].keys()
        assert set(service.get("depends_on", {})) <= described["services"].keys()


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_compose_files_guard_the_service_and_let_it_finish(file):
    for service in services_of(file).values():
        assert_are_settings(set(service["environment"]))
        assert seconds(service["stop_grace_period"]) > seconds(service["environment"]["COLLECTOR_STOP_SECONDS"])
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert (file.parent / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_workers_run_beside_a_server_that_does_not_collect():
    [one] = services_of(DEPLOY / "compose.yaml").values()
    assert "command" not in one
    commands = {name: service["command"] for name, service in services_of(DEPLOY / "compose.postgres.yaml").items()}
    assert commands == {"catchment": ["up", "--no-collect"], "worker": ["worker"]}


# systemd


def unit_values(unit: Path, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_let_the_service_finish_and_name_settings_that_exist(unit):
    environment = dict(line.split("=", 1) for line in unit_values(unit, "Environment"))
    assert_are_settings(set(environment))
    [stop] = unit_values(unit, "TimeoutStopSec")
    assert seconds(stop) > seconds(environment["COLLECTOR_STOP_SECONDS"])
    assert environment["CATCHMENT_HOME"] == f"/var/lib/{unit_values(unit, 'StateDirectory')[0]}"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_no_fault_with_the_units(unit, tmp_path):
    program = tmp_path / "catchment"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    here = tmp_path / unit.name.replace("@", "@1")
    here.write_text(unit.read_text(encoding="utf-8").replace("/opt/catchment/bin/catchment", str(program)))
    checked = run(tool("systemd-analyze"), "verify", "--man=no", here)
    told = [line for line in checked.stderr.splitlines() if here.name in line]
    assert (checked.returncode, told) == (0, []), checked.stderr


# Kubernetes


def manifests() -> Iterator[dict[str, Any]]:
    for file in MANIFESTS:
        yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in manifests() if one["kind"] == kind}


def test_the_kustomization_has_every_manifest():
    [kustomization] = [one for one in manifests() if one["kind"] == "Kustomization"]
    assert {*kustomization["resources"], "kustomization.yaml"} == {file.name for file in MANIFESTS}


def test_manifests_refer_to_names_that_exist():
    settings = of_kind("ConfigMap")["catchment"]["data"]
    assert_are_settings(set(settings))
    pods = {name: one["spec"]["template"] for name, one in of_kind("Deployment").items()}
    assert pods.keys() == {"catchment", "catchment-worker"}
    for name, pod in pods.items():
        assert of_kind("Deployment")[name]["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
        [container] = pod["spec"]["containers"]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts.keys() == {volume["name"] for volume in pod["spec"]["volumes"]}
        assert container["envFrom"] == [{"configMapRef": {"name": "catchment"}}]
        files = [value for variable, value in settings.items() if variable.endswith("_FILE")]
        assert all(file.startswith(mounts["secrets"] + "/") for file in files)
    selector = of_kind("Service")["catchment"]["spec"]["selector"]
    assert selector == pods["catchment"]["metadata"]["labels"]


def test_pods_are_guarded_and_may_finish():
    stop = of_kind("ConfigMap")["catchment"]["data"]["COLLECTOR_STOP_SECONDS"]
    for one in of_kind("Deployment").values():
        pod = one["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] > seconds(stop)
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_kubectl_puts_the_manifests_together():
    made = run(tool("kubectl"), "kustomize", DEPLOY / "kubernetes")
    assert made.returncode == 0, made.stderr
    assert len(list(yaml.safe_load_all(made.stdout))) == 4


# Prometheus and Grafana


async def shown_metrics(folder: Path) -> list[Metric]:
    """As a server gives them out."""
    metrics = Metrics()
    metrics.observe_request("GET", "/", 200, 0.1)
    async with open_system(Settings(home=folder)) as system:
        text = metrics.render(await read_numbers(system)).decode()
    return list(text_string_to_metric_families(text))


def queries() -> dict[str, str]:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))
    board = json.loads((DEPLOY / "grafana" / "catchment.json").read_text(encoding="utf-8"))
    found = {rule["alert"]: rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    shown = {f"{panel['title']} {one['refId']}": one["expr"] for panel in board["panels"] for one in panel["targets"]}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    return found | shown


async def test_rules_and_dashboard_ask_for_metrics_that_exist(tmp_path: Path):
    families = await shown_metrics(tmp_path)
    known = {name for family in families for name in (family.name, *(sample.name for sample in family.samples))}
    for where, query in queries().items():
        named = set(re.findall(r"\bcatchment_\w+", query))
        assert named <= known, where
    asked = {name for query in queries().values() for name in re.findall(r"\bcatchment_\w+", query)}
    shown = {re.sub(r"_(total|bucket)$", "", name) for name in asked}
    # The moment at which a series began comes by itself.
    assert shown == {family.name for family in families if not family.name.endswith("_created")}
    assert {"P0", "P1"} <= set(Severity)


def test_promtool_finds_no_fault_with_the_rules_and_the_scrape():
    for words in (("rules", "rules.yaml"), ("config", "prometheus.yaml")):
        checked = run(tool("promtool"), "check", words[0], DEPLOY / "prometheus" / words[1])
        assert checked.returncode == 0, checked.stderr


def test_promtool_reads_every_query_of_the_dashboard(tmp_path):
    rules = [{"record": f"query_{n}", "expr": query} for n, query in enumerate(queries().values())]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    checked = run(tool("promtool"), "check", "rules", file)
    assert checked.returncode == 0, checked.stderr


def test_the_rules_fire_when_they_should_and_not_before(tmp_path):
    def case(alert: str, at: str, series: dict[str, str], fires: int) -> dict[str, Any]:
        given = [{"series": name, "values": values} for name, values in series.items()]
        query = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)'
        expected = [{"expr": query, "eval_time": at, "exp_samples": [{"labels": "{}", "value": fires}]}]
        return {"interval": "1m", "input_series": given, "promql_expr_test": expected}

    down, idle = {'up{job="catchment"}': "0x20"}, {"catchment_collector_running": "0x30"}
    failing = {"catchment_fetch_errors_24h": "60x90", "catchment_fetches_24h": "110x90"}
    tests = [
        case("CatchmentDown", "4m", down, 0),
        case("CatchmentDown", "6m", down, 1),
        case("CatchmentCollectsNothing", "12m", idle, 1),
        case("CatchmentCollectsNothing", "12m", {"catchment_collector_running": "1x30"}, 0),
        case("CatchmentMostVisitsFail", "70m", failing, 1),
        case("CatchmentAlert", "5m", {'catchment_alerts{severity="P0"}': "1x10"}, 1),
        case("CatchmentAlert", "5m", {'catchment_alerts{severity="P3"}': "1x10"}, 0),
    ]
    file = tmp_path / "tests.yaml"
    rules = str(DEPLOY / "prometheus" / "rules.yaml")
    file.write_text(yaml.safe_dump({"rule_files": [rules], "evaluation_interval": "1m", "tests": tests}))
    checked = run(tool("promtool"), "test", "rules", file)
    assert checked.returncode == 0, checked.stdout + checked.stderr


# Proxies


def test_nginx_reads_the_examples(tmp_path):
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not os.access(program, os.X_OK):
        pytest.skip("nginx is not installed")
    text = (ROOT / "docs" / "deploy.md").read_text()
    examples = re.findall(r"^```nginx\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2, "at the top of a site, and below a path"
    plain = re.sub(r"^ *ssl_.*\n", "", "".join(examples), flags=re.MULTILINE).replace("443 ssl", "127.0.0.1:8")
    file = tmp_path / "nginx.conf"
    file.write_text(
        f"pid {tmp_path}/pid;\nerror_log {tmp_path}/log;\nevents {{}}\nhttp {{ access_log off;\n{plain}}}\n"
    )
    checked = run(program, "-t", "-c", file, "-p", tmp_path)
    assert checked.returncode == 0, checked.stderr
