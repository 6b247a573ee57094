// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/pod_text.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/config/role_name.h"
#include "deploy/kubernetes/manifests.h"
#include "deploy/kubernetes/yaml_text.h"

namespace gandem {
namespace {

// Beyond the time that a checkpoint may take (control.grace_seconds): telling
// all workers, and leaving.
constexpr absl::Duration kLeaveTime = absl::Seconds(30);

// The coordinator has budgets of its own for what fails; these bound what never
// gets so far, such as a wrong argument.
constexpr int kCoordinatorRetries = 6;
constexpr int kWorkerRetries = 100;

// Placeholders are @NAME@. User 10001 is the image's (deploy/container).
constexpr char kJobSpec[] = R"(  # Failures of the process, not of nodes.
  backoffLimit: @RETRIES@
  template:
    metadata:
      labels:
@POD_LABELS@        app.kubernetes.io/component: @COMPONENT@
        gandem/pod: @POD@
@ANNOTATIONS@    spec:
      # What the others call it; their Service has the same name.
      hostname: @POD@
      restartPolicy: OnFailure
      # control.grace_seconds for a checkpoint, and 30 s to leave.
      terminationGracePeriodSeconds: @GRACE@
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        # Or every start would open the token's file to the group.
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile:
          type: RuntimeDefault
      tolerations:
        # A node that is silent for so long is given up; the default is 300 s.
        - key: node.kubernetes.io/unreachable
          operator: Exists
          effect: NoExecute
          tolerationSeconds: 30
        - key: node.kubernetes.io/not-ready
          operator: Exists
          effect: NoExecute
          tolerationSeconds: 30
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              gandem/run: @RUN@
              app.kubernetes.io/component: @COMPONENT@
      containers:
        - name: @COMPONENT@
          image: @IMAGE@
          command: @COMMAND@
          args:
@ARGUMENTS@@ENVIRONMENT@          ports:
@PORTS@          resources:
            requests:
@REQUESTS@            limits:
@LIMITS@          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: ["ALL"]
@PROBES@          volumeMounts:
            - name: volume
              mountPath: /gandem
            - name: tmp
              mountPath: /tmp
@MOUNTS@      volumes:
        - name: volume
          persistentVolumeClaim:
            claimName: @CLAIM@
        - name: tmp
          emptyDir: {}
@VOLUMES@)";

// Workers have none: the coordinator hears their heartbeats and sees their
// progress, and a Service must know a pod before it is ready. A probe connects
// and says nothing, which the server takes for a stranger and forgets.
constexpr char kProbes[] = R"(          startupProbe:
            tcpSocket:
              port: control
            periodSeconds: 2
            # Half an hour to look at the dataset.
            failureThreshold: 900
          readinessProbe:
            tcpSocket:
              port: control
            periodSeconds: 10
          livenessProbe:
            tcpSocket:
              port: control
            periodSeconds: 30
            failureThreshold: 6
)";

constexpr char kSecretMounts[] = R"(            - name: secret
              mountPath: /secret
              readOnly: true
            - name: certificates
              mountPath: /certificates
)";

// A key that others could read is refused, and the group's access to what a
// Secret holds cannot be switched off: the start copies it.
constexpr char kSecretVolumes[] = R"(        - name: secret
          secret:
            secretName: @SECRET@
            defaultMode: 0440
            items:
              - key: ca.crt
                path: ca.crt
              - key: @POD@.crt
                path: @POD@.crt
              - key: @POD@.key
                path: @POD@.key
        - name: certificates
          emptyDir:
            medium: Memory
)";

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string Lines(const std::vector<std::string>& lines, int indent,
                  const std::string& mark = "") {
  std::string text;
  for (const std::string& line : lines) {
    absl::StrAppend(&text, std::string(indent, ' '), mark, line, "\n");
  }
  return text;
}

std::string Ports(const NamedPorts& ports) {
  std::vector<std::string> lines;
  for (const auto& [name, port] : ports) {
    lines.push_back(absl::StrCat("- name: ", name));
    lines.push_back(absl::StrCat("  containerPort: ", port));
  }
  return Lines(lines, 12);
}

std::string Arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> quoted;
  for (const std::string& argument : arguments) {
    quoted.push_back(YamlQuoted(argument));
  }
  return Lines(quoted, 12, "- ");
}

// How this pod shows who it is. $(NAME) in an argument is Kubernetes' own.
std::vector<std::string> NetworkFlags(const KubernetesRun& run,
                                      const std::string& pod) {
  if (run.secret.empty()) return {"--insecure_network"};
  return {"--certificates", "/certificates/" + pod};
}

void AddLogFlags(const KubernetesRun& run,
                 std::vector<std::string>& arguments) {
  if (run.log_format == "text") return;
  arguments.insert(arguments.end(), {"--log_format", run.log_format});
}

// A $ of the user's that begins $(NAME) would be taken for Kubernetes'.
std::string Literal(const std::string& argument) {
  return absl::StrReplaceAll(argument, {{"$(", "$$("}});
}

// `fields` may hold placeholders themselves. What users have written goes in
// last: it may look like one.
PodJob Render(const KubernetesRun& run, const std::string& pod,
              const std::string& component, const Fields& fields,
              const std::vector<std::string>& arguments) {
  const std::string job = absl::StrReplaceAll(kJobSpec, fields);
  const std::string mounts = run.secret.empty() ? "" : kSecretMounts;
  const std::string volumes = run.secret.empty() ? "" : kSecretVolumes;
  const std::string whole = absl::StrReplaceAll(
      job, {{"@SECRET_MOUNTS@", mounts}, {"@SECRET_VOLUMES@", volumes}});
  const std::string named = absl::StrReplaceAll(
      whole, {{"@POD@", pod},
              {"@COMPONENT@", component},
              {"@POD_LABELS@", RunLabels(run, 8)},
              {"@RUN@", run.name},
              {"@GRACE@", absl::StrCat(absl::ToInt64Seconds(absl::Ceil(
                              run.grace + kLeaveTime, absl::Seconds(1))))},
              {"@CLAIM@", run.volume.claim},
              {"@SECRET@", run.secret}});
  return {.pod = pod,
          .component = component,
          .spec = absl::StrReplaceAll(named,
                                      {{"@IMAGE@", YamlQuoted(run.image)},
                                       {"@ARGUMENTS@", Arguments(arguments)}})};
}

}  // namespace

std::string RunLabels(const KubernetesRun& run, int indent) {
  return Lines(
      {"app.kubernetes.io/name: gandem", "app.kubernetes.io/managed-by: gandem",
       absl::StrCat("gandem/run: ", run.name)},
      indent);
}

std::string JobLabels(const KubernetesRun& run, const PodJob& job, int indent) {
  return absl::StrCat(
      RunLabels(run, indent),
      Lines({"app.kubernetes.io/component: " + job.component}, indent));
}

NamedPorts CoordinatorPorts(const KubernetesRun& run) {
  NamedPorts ports = {{"control", kControlPort}};
  if (run.metrics_port.has_value()) {
    ports.push_back({"metrics", *run.metrics_port});
  }
  return ports;
}

std::string JobText(const KubernetesRun& run, const PodJob& job) {
  return absl::StrCat(
      "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: ", job.pod,
      "\n  labels:\n", JobLabels(run, job, 4), "spec:\n", job.spec);
}

namespace {

// A cluster's Prometheus that looks for pods looks at these.
std::string ScrapeAnnotations(const KubernetesRun& run) {
  if (!run.metrics_port.has_value()) return "";
  return absl::StrCat(
      "      annotations:\n", "        prometheus.io/scrape: \"true\"\n",
      "        prometheus.io/port: \"", *run.metrics_port, "\"\n");
}

std::vector<std::string> CoordinatorArguments(const KubernetesRun& run) {
  const std::string pod = CoordinatorName(run);
  std::vector<std::string> arguments = {"gandem", "train"};
  if (run.is_plan) arguments.push_back("--plan");
  arguments.push_back(run.is_plan ? "/recipe/plan.textproto"
                                  : "/recipe/recipe.textproto");
  arguments.insert(arguments.end(),
                   {"--run_dir", RunFolderInPod(run), "--external", "--listen",
                    absl::StrCat(pod, ":", kControlPort)});
  if (run.metrics_port.has_value()) {
    arguments.insert(
        arguments.end(),
        {"--metrics_listen", absl::StrCat(pod, ":", *run.metrics_port)});
  }
  AddLogFlags(run, arguments);
  for (std::string& flag : NetworkFlags(run, pod)) {
    arguments.push_back(std::move(flag));
  }
  for (const std::string& argument : run.train_arguments) {
    arguments.push_back(Literal(argument));
  }
  return arguments;
}

}  // namespace

PodJob CoordinatorJob(const KubernetesRun& run) {
  const std::string mounts =
      "            - name: recipe\n"
      "              mountPath: /recipe\n"
      "              readOnly: true\n"
      "@SECRET_MOUNTS@";
  const std::string volumes = absl::StrCat(
      "        - name: recipe\n", "          configMap:\n",
      "            name: ", run.name, "-recipe\n", "@SECRET_VOLUMES@");
  return Render(run, CoordinatorName(run), "coordinator",
                {{"@ANNOTATIONS@", ScrapeAnnotations(run)},
                 {"@RETRIES@", absl::StrCat(kCoordinatorRetries)},
                 {"@COMMAND@", YamlList({"gandem_pod", "coordinator"})},
                 {"@ENVIRONMENT@", ""},
                 {"@PORTS@", Ports(CoordinatorPorts(run))},
                 {"@REQUESTS@", Lines({"cpu: 250m", "memory: 256Mi"}, 14)},
                 {"@LIMITS@", Lines({"memory: 2Gi"}, 14)},
                 {"@PROBES@", kProbes},
                 {"@MOUNTS@", mounts},
                 {"@VOLUMES@", volumes}},
                CoordinatorArguments(run));
}

namespace {

// A pod's address is told to the others when it registers, so that nobody has
// to look it up; a certificate is for its name.
std::string ListenAt(const KubernetesRun& run, const std::string& pod,
                     int port) {
  return absl::StrCat(run.secret.empty() ? "$(POD_IP)" : pod, ":", port);
}

std::vector<std::string> WorkerArguments(const KubernetesRun& run,
                                         const KubernetesWorker& worker) {
  const std::string pod = PodName(run, worker);
  std::vector<std::string> arguments = {
      absl::StrCat(RoleName(worker.role), "_worker"),
      "--control",
      absl::StrCat(CoordinatorName(run), ":", kControlPort),
      "--rank",
      absl::StrCat(worker.rank),
      "--token_file",
      RunFolderInPod(run) + "/state/token"};
  if (worker.role == DISCRIMINATOR) {
    arguments.insert(arguments.end(),
                     {"--listen", ListenAt(run, pod, kExchangePort)});
  }
  if (worker.role != COLOCATED) {
    arguments.insert(arguments.end(),
                     {"--fleet_listen", ListenAt(run, pod, kFleetPort)});
  }
  AddLogFlags(run, arguments);
  for (std::string& flag : NetworkFlags(run, pod)) {
    arguments.push_back(std::move(flag));
  }
  return arguments;
}

}  // namespace

PodJob WorkerJob(const KubernetesRun& run, const KubernetesWorker& worker) {
  std::vector<std::string> requests = {absl::StrCat("cpu: ", worker.threads)};
  std::vector<std::string> limits;
  if (worker.memory_bytes > 0) {
    requests.push_back(absl::StrCat("memory: ", worker.memory_bytes));
    limits.push_back(absl::StrCat("memory: ", worker.memory_bytes));
  }
  if (worker.gpus > 0) {
    limits.push_back(absl::StrCat("nvidia.com/gpu: ", worker.gpus));
  }
  NamedPorts ports;
  if (worker.role == DISCRIMINATOR)
    ports.push_back({"exchange", kExchangePort});
  ports.push_back({"fleet", kFleetPort});
  const std::string environment =
      "          env:\n"
      "            - name: POD_IP\n"
      "              valueFrom:\n"
      "                fieldRef:\n"
      "                  fieldPath: status.podIP\n";
  return Render(
      run, PodName(run, worker), RoleName(worker.role),
      {{"@ANNOTATIONS@", ""},
       {"@RETRIES@", absl::StrCat(kWorkerRetries)},
       {"@COMMAND@", YamlList({"gandem_pod", "worker", RunFolderInPod(run)})},
       {"@ENVIRONMENT@", run.secret.empty() ? environment : ""},
       {"@PORTS@", Ports(ports)},
       {"@REQUESTS@", Lines(requests, 14)},
       {"            limits:\n@LIMITS@",
        limits.empty()
            ? ""
            : absl::StrCat("            limits:\n", Lines(limits, 14))},
       {"@PROBES@", ""},
       {"@MOUNTS@", "@SECRET_MOUNTS@"},
       {"@VOLUMES@", "@SECRET_VOLUMES@"}},
      WorkerArguments(run, worker));
}

}  // namespace gandem
