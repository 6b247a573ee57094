# SPDX-License-Identifier: Apache-2.0
"""What manifests say, read by PyYAML: an independent reader of the goldens.

Usage: check_manifests.py full|plain FOLDER
"""

import pathlib
import re
import sys

import yaml

FULL, PLAIN = "full", "plain"
PODS = ["faces-coordinator", "faces-generator-0", "faces-discriminator-0",
        "faces-discriminator-1"]


def documents(folder):
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield path.name, document


def arguments_after(job, flag):
    arguments = container(job)["args"]
    return arguments[arguments.index(flag) + 1]


def container(job):
    (only,) = job["spec"]["template"]["spec"]["containers"]
    return only


def check_pod(job):
    name = job["metadata"]["name"]
    spec = job["spec"]["template"]["spec"]
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert spec["hostname"] == name == labels["gandem/pod"], name
    assert spec["restartPolicy"] == "OnFailure"
    # 45.5 s for a checkpoint, 30 s to leave, rounded up.
    assert spec["terminationGracePeriodSeconds"] == 76
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    security = container(job)["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    mounts = {m["name"]: m["mountPath"] for m in container(job)["volumeMounts"]}
    volumes = {v["name"]: v for v in spec["volumes"]}
    assert set(mounts) == set(volumes), "a mount without a volume, or reverse"
    assert mounts["volume"] == "/gandem" and mounts["tmp"] == "/tmp"
    # Pods find the run's certificates in the run folder.
    for flag in ("--certificates", "--insecure_network"):
        assert flag not in container(job)["args"]


def check_watching(jobs, found, kind):
    """Only full has --metrics_port 9400 --log_format json."""
    name = "faces-coordinator"
    for job in jobs.values():
        if kind == FULL:
            assert arguments_after(job, "--log_format") == "json"
        else:
            assert "--log_format" not in container(job)["args"]
    scraped = {pod: job["spec"]["template"]["metadata"].get("annotations")
               for pod, job in jobs.items()}
    ports = [{"name": "control", "containerPort": 7000}]
    service = [{"name": "control", "port": 7000}]
    expected = dict.fromkeys(PODS)
    if kind == FULL:
        assert arguments_after(jobs[name], "--metrics_listen") == f"{name}:9400"
        expected[name] = {"prometheus.io/scrape": "true",
                          "prometheus.io/port": "9400"}
        ports.append({"name": "metrics", "containerPort": 9400})
        service.append({"name": "metrics", "port": 9400})
        check_scrape_config(
            jobs[name]["spec"]["template"]["metadata"]["labels"], ports)
    else:
        assert "--metrics_listen" not in container(jobs[name])["args"]
    assert scraped == expected, scraped
    assert container(jobs[name])["ports"] == ports
    assert found["Service"][name]["spec"]["ports"] == service
    # The run's own pods may connect; all other pods only to the metrics port.
    rules = found["NetworkPolicy"]["faces"]["spec"]["ingress"]
    assert rules[0]["from"] == [
        {"podSelector": {"matchLabels": {"gandem/run": "faces"}}}]
    assert rules[1:] == ([] if kind == PLAIN else [
        {"from": [{"namespaceSelector": {}}],
         "ports": [{"protocol": "TCP", "port": 9400}]}]), rules[1:]


def check_scrape_config(labels, ports):
    """The example for Prometheus finds the coordinator."""
    root = pathlib.Path(__file__).resolve().parents[3]
    config = yaml.safe_load(
        (root / "deploy/prometheus/kubernetes.yml").read_text())
    (job,) = config["scrape_configs"]
    (discovery,) = job["kubernetes_sd_configs"]
    (selector,) = discovery["selectors"]
    name, value = selector["label"].split("=")
    assert labels[name] == value, labels
    keep, _, rename = job["relabel_configs"]
    assert keep["regex"] in [port["name"] for port in ports]
    # Prometheus writes _ for what a name of its own may not have.
    written = ["__meta_kubernetes_pod_label_" + re.sub(r"\W", "_", label)
               for label in labels]
    assert rename["source_labels"][1] in written, written


def check_workers(jobs):
    for name, job in jobs.items():
        if name == "faces-coordinator":
            continue
        role, rank = name.split("-")[1:]
        arguments = container(job)["args"]
        assert arguments[0] == f"{role}_worker"
        assert arguments_after(job, "--control") == "faces-coordinator:7000"
        assert arguments_after(job, "--rank") == rank
        assert container(job)["command"] == [
            "gandem_pod", "worker", "/gandem/runs/faces"]
        assert arguments_after(job, "--fleet_listen") == "$(POD_IP):7002"
        if role == "discriminator":
            assert arguments_after(job, "--listen") == "$(POD_IP):7001"
        else:
            assert "--listen" not in arguments
        assert [e["name"] for e in container(job)["env"]] == ["POD_IP"]
    generator = container(jobs["faces-generator-0"])["resources"]
    assert generator == {"requests": {"cpu": 4},
                         "limits": {"nvidia.com/gpu": 1}}, generator
    discriminator = container(jobs["faces-discriminator-1"])["resources"]
    assert discriminator == {"requests": {"cpu": 2, "memory": 3 << 30},
                             "limits": {"memory": 3 << 30}}, discriminator


def main(kind, folder):
    found = {}
    for file, document in documents(folder):
        found.setdefault(document["kind"], {})[
            document.get("metadata", {}).get("name", file)] = document
    jobs = found["Job"]
    assert sorted(jobs) == sorted(PODS), sorted(jobs)
    for job in jobs.values():
        check_pod(job)
    check_workers(jobs)
    check_watching(jobs, found, kind)

    coordinator = container(jobs["faces-coordinator"])
    assert coordinator["args"][:3] == [
        "gandem", "train", "/recipe/recipe.textproto"]
    listen = arguments_after(jobs["faces-coordinator"], "--listen")
    assert listen == "faces-coordinator:7000"
    if kind == FULL:
        # Kubernetes makes $( of $$(.
        assert coordinator["args"][-2:] == ["--set", "name=\"$$(HOME): it's\""]
    assert coordinator["readinessProbe"]["tcpSocket"]["port"] == "control"

    # The coordinator's name leads to its pod.
    ((name, service),) = found["Service"].items()
    assert name == PODS[0]
    assert service["spec"]["selector"] == {"gandem/pod": name}
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True

    recipe = found["ConfigMap"]["faces-recipe"]["data"]["recipe.textproto"]
    assert recipe == '# A recipe.\nname: "faces"\nrounds: 4\n', recipe
    budget = found["PodDisruptionBudget"]["faces"]["spec"]
    assert budget["minAvailable"] == len(PODS) - 1
    policy = found["NetworkPolicy"]["faces"]["spec"]
    selected = {"matchLabels": {"gandem/run": "faces"}}
    assert policy["podSelector"] == budget["selector"] == selected
    assert [p["port"] for p in policy["ingress"][0]["ports"]] == [
        7000, 7001, 7002]

    kustomization = found["Kustomization"]["kustomization.yaml"]
    listed = set(kustomization["resources"])
    files = {path.name for path in folder.glob("*.yaml")}
    assert files - listed - {"kustomization.yaml"} == (
        {"volume.yaml"} if kind == FULL else set()), files ^ listed
    if kind == FULL:
        claim = found["PersistentVolumeClaim"]["faces-run"]
        assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
        assert claim["metadata"]["namespace"] == "gans"


def check_templates():
    """Before they are filled in they are YAML, which editors and linters read."""
    root = pathlib.Path(__file__).parents[3]
    paths = sorted((root / "deploy/kubernetes/templates").glob("*.yaml"))
    assert paths, "no templates"
    for path in paths:
        assert list(yaml.safe_load_all(path.read_text())), path


if __name__ == "__main__":
    check_templates()
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
