# SPDX-License-Identifier: Apache-2.0
"""What manifests say, read by PyYAML: an independent reader of the goldens.

Usage: check_manifests.py encrypted|plain FOLDER
"""

import pathlib
import sys

import yaml

ENCRYPTED, PLAIN = "encrypted", "plain"
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


def check_pod(job, kind):
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
    if kind == ENCRYPTED:
        assert arguments_after(job, "--certificates") == f"/certificates/{name}"
        keys = [i["key"] for i in volumes["secret"]["secret"]["items"]]
        assert keys == ["ca.crt", f"{name}.crt", f"{name}.key"], keys
        assert "--insecure_network" not in container(job)["args"]
    else:
        assert "secret" not in volumes
        assert "--insecure_network" in container(job)["args"]


def check_workers(jobs, kind):
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
        host = name if kind == ENCRYPTED else "$(POD_IP)"
        assert arguments_after(job, "--fleet_listen") == f"{host}:7002"
        if role == "discriminator":
            assert arguments_after(job, "--listen") == f"{host}:7001"
        else:
            assert "--listen" not in arguments
        named = [e["name"] for e in container(job).get("env", [])]
        assert ("POD_IP" in named) == (kind == PLAIN)
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
        check_pod(job, kind)
    check_workers(jobs, kind)

    coordinator = container(jobs["faces-coordinator"])
    assert coordinator["args"][:3] == [
        "gandem", "train", "/recipe/recipe.textproto"]
    listen = arguments_after(jobs["faces-coordinator"], "--listen")
    assert listen == "faces-coordinator:7000"
    if kind == ENCRYPTED:
        # Kubernetes makes $( of $$(.
        assert coordinator["args"][-2:] == ["--set", "name=\"$$(HOME): it's\""]
    (ports,) = coordinator["ports"]
    assert ports == {"name": "control", "containerPort": 7000}
    assert coordinator["readinessProbe"]["tcpSocket"]["port"] == "control"

    # A name that is asked for leads to one pod.
    services = found["Service"]
    assert sorted(services) == sorted(PODS if kind == ENCRYPTED else PODS[:1])
    for name, service in services.items():
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
        {"volume.yaml"} if kind == ENCRYPTED else set()), files ^ listed
    if kind == ENCRYPTED:
        claim = found["PersistentVolumeClaim"]["faces-run"]
        assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
        assert claim["metadata"]["namespace"] == "gans"


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
