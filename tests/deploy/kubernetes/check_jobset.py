# SPDX-License-Identifier: Apache-2.0
"""What a JobSet says, read by PyYAML: its fields are those of the API
jobset.x-k8s.io/v1alpha2 and its Jobs those of the plain manifests, which a
cluster has taken.

Usage: check_jobset.py JOBS JOBSET    two folders of manifests of one run
"""

import pathlib
import sys

import yaml

NAMES = [str]
# Fields, and what they hold: a type, a set of texts, or more of this. Of a Job
# no more is looked at.
SCHEMA = {
    "apiVersion": {"jobset.x-k8s.io/v1alpha2"},
    "kind": {"JobSet"},
    "metadata": {"name": str, "labels": dict},
    "spec": {
        "network": {"enableDNSHostnames": bool, "subdomain": str,
                    "publishNotReadyAddresses": bool},
        "successPolicy": {"operator": {"All", "Any"},
                          "targetReplicatedJobs": NAMES},
        "failurePolicy": {
            "maxRestarts": int,
            "restartStrategy": {"Recreate", "BlockingRecreate"},
            "rules": [{"name": str,
                       "action": {"FailJobSet", "RestartJobSet",
                                  "RestartJobSetAndIgnoreMaxRestarts"},
                       "onJobFailureReasons": NAMES,
                       "targetReplicatedJobs": NAMES}]},
        "suspend": bool,
        "replicatedJobs": [{"name": str, "replicas": int,
                            "template": {"metadata": {"labels": dict},
                                         "spec": dict}}],
    },
}


def check(value, schema, path):
    if isinstance(schema, list):
        assert isinstance(value, list) and value, path
        for number, item in enumerate(value):
            check(item, schema[0], f"{path}[{number}]")
    elif isinstance(schema, dict):
        assert isinstance(value, dict), path
        for field, inner in value.items():
            assert field in schema, f"there is no field {path}.{field}"
            check(inner, schema[field], f"{path}.{field}")
    elif isinstance(schema, set):
        assert value in schema, f"{path} is '{value}'"
    else:
        assert type(value) is schema, f"{path} is no {schema.__name__}"


def main(jobs_folder, jobset_folder):
    jobs = {}
    for path in jobs_folder.glob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            if document["kind"] == "Job":
                jobs[document["metadata"]["name"]] = document
    jobset = yaml.safe_load((jobset_folder / "jobset.yaml").read_text())
    check(jobset, SCHEMA, "JobSet")

    run = jobset["metadata"]["name"]
    spec = jobset["spec"]
    in_set = {f"{run}-{j['name']}": j for j in spec["replicatedJobs"]}
    assert sorted(in_set) == sorted(jobs), sorted(in_set)
    for name, job in in_set.items():
        assert job["replicas"] == 1
        # Or the pod gets the name of its Job and an index.
        assert job["template"]["spec"].pop("completionMode") == "NonIndexed"
        assert job["template"]["spec"] == jobs[name]["spec"], name
        assert (job["template"]["metadata"]["labels"]
                == jobs[name]["metadata"]["labels"])
    assert spec["network"]["enableDNSHostnames"] is False

    # The coordinator decides how a run has ended.
    assert spec["successPolicy"] == {
        "operator": "All", "targetReplicatedJobs": ["coordinator"]}
    rules = {r["name"]: r for r in spec["failurePolicy"]["rules"]}
    assert rules["coordinator"]["action"] == "FailJobSet"
    assert rules["generator"]["action"] == "RestartJobSet"
    assert rules["discriminator"]["targetReplicatedJobs"] == [
        "discriminator-0", "discriminator-1"]
    ruled = [j for r in rules.values() for j in r["targetReplicatedJobs"]]
    assert sorted(f"{run}-{j}" for j in ruled) == sorted(jobs), ruled

    # All else is as without.
    others = {p.name for p in jobs_folder.glob("*.yaml")} - {
        "coordinator.yaml", "generators.yaml", "discriminators.yaml"}
    assert {p.name for p in jobset_folder.glob("*.yaml")} == (
        others | {"jobset.yaml"})
    for name in others - {"kustomization.yaml"}:
        assert ((jobs_folder / name).read_text()
                == (jobset_folder / name).read_text()), name


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
