// SPDX-License-Identifier: Apache-2.0
#include "python_worker/python_network.h"

#include <ATen/Context.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/philox.h"
#include "common/process/log.h"
#include "models/foreign_network.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "python_worker/interpreter.h"

namespace gandem {
namespace {

namespace py = pybind11;

// Module that keeps integer buffers (counts and indices) unchanged when
// converted to another floating-point type.
template <typename Base>
class KeepsIntegers : public Base {
 public:
  using torch::nn::Module::to;
  void to(torch::Dtype dtype, bool non_blocking) override {
    Keep([&] { Base::to(dtype, non_blocking); });
  }
  void to(torch::Device device, torch::Dtype dtype,
          bool non_blocking) override {
    Keep([&] { Base::to(device, dtype, non_blocking); });
  }

 private:
  template <typename Convert>
  void Keep(Convert convert) {
    std::vector<std::pair<at::Tensor, at::Tensor>> kept;
    for (const at::Tensor& buffer : this->buffers(/*recurse=*/false)) {
      if (!buffer.is_floating_point()) {
        kept.emplace_back(buffer, buffer.clone());
      }
    }
    convert();
    for (auto& [buffer, values] : kept) {
      buffer.set_data(values.to(buffer.device()));
    }
  }
};

using TensorFolder = KeepsIntegers<torch::nn::Module>;

// Maps the dotted names of a torch.nn.Module to a tree of modules.
class TensorTree {
 public:
  explicit TensorTree(torch::nn::Module& root) : root_(root) {}

  void AddParameter(const std::string& name, const at::Tensor& tensor) {
    auto [folder, leaf] = FolderOf(name);
    folder->register_parameter(leaf, tensor, tensor.requires_grad());
  }

  void AddBuffer(const std::string& name, const at::Tensor& tensor) {
    auto [folder, leaf] = FolderOf(name);
    folder->register_buffer(leaf, tensor);
  }

 private:
  std::pair<torch::nn::Module*, std::string> FolderOf(const std::string& name) {
    std::vector<std::string> parts = absl::StrSplit(name, '.');
    torch::nn::Module* folder = &root_;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto children = folder->named_children();
      const auto* const child = children.find(parts[i]);
      if (child != nullptr) {
        folder = child->get();
      } else {
        folder =
            folder->register_module(parts[i], std::make_shared<TensorFolder>())
                .get();
      }
    }
    return {folder, parts.back()};
  }

  torch::nn::Module& root_;
};

const char* ModeName(ForwardMode mode) {
  switch (mode) {
    case ForwardMode::kTrain:
      return "train";
    case ForwardMode::kFrozen:
      return "frozen";
    case ForwardMode::kEvaluate:
      break;
  }
  return "evaluate";
}

// The user's module, as gandem._network.Network.
class PythonModule {
 public:
  PythonModule(const char* role, const PythonConfig& config,
               const DataShape& data) {
    WithInterpreter([&] {
      py::list arguments;
      for (const std::string& argument : config.arguments()) {
        arguments.append(argument);
      }
      network_ = py::module_::import("gandem._network")
                     .attr("Network")(
                         role, config.module(), config.name(), arguments,
                         config.sha256(), config.noise_dim(),
                         py::make_tuple(data.image.channels, data.image.height,
                                        data.image.width),
                         data.num_classes);
      for (const py::handle line : network_.attr("warnings")) {
        GANDEM_LOG_WARN("{}", line.cast<std::string>());
      }
    });
  }
  // Python objects must be released with the lock held.
  ~PythonModule() {
    const py::gil_scoped_acquire lock;
    network_ = py::object();
  }
  PythonModule(const PythonModule&) = delete;
  PythonModule& operator=(const PythonModule&) = delete;

  void Register(torch::nn::Module& root) const {
    WithInterpreter([&] {
      TensorTree tree(root);
      const auto add = [&](const char* list, auto register_tensor) {
        for (const py::handle item : network_.attr(list)()) {
          const auto pair = item.cast<py::tuple>();
          register_tensor(pair[0].cast<std::string>(),
                          pair[1].cast<at::Tensor>());
        }
      };
      add("parameters", [&](const std::string& name, const at::Tensor& tensor) {
        tree.AddParameter(name, tensor);
      });
      add("buffers", [&](const std::string& name, const at::Tensor& tensor) {
        tree.AddBuffer(name, tensor);
      });
    });
  }

  // Later passes also draw from streams of this seed.
  void DrawFirstValues(uint64_t seed) {
    seed_ = seed;
    WithInterpreter([&] { network_.attr("set_first_values")(seed); });
  }

  bool GatherStatisticsAfresh() {
    return WithInterpreter([&] {
      return network_.attr("gather_statistics_afresh")().template cast<bool>();
    });
  }

  // For HasForeignLayers.
  std::string WhyTwoPasses() const {
    return WithInterpreter([&] {
      return network_.attr("why_two_passes").template cast<std::string>();
    });
  }

  // Returns the outputs of the module; a generator has one.
  std::vector<at::Tensor> Forward(const at::Tensor& input,
                                  const Condition& condition,
                                  ForwardMode mode) {
    if (mode != ForwardMode::kEvaluate) {
      const DrawPlace& place = condition.place;
      PhiloxStream stream(seed_, place.purpose, place.step, place.first_index);
      at::manual_seed(stream.NextUint64());
    }
    return WithInterpreter([&] {
      py::object labels = py::none();
      if (condition.labels_N.defined()) labels = py::cast(condition.labels_N);
      return network_
          .attr("forward")(ModeName(mode), input, labels, condition.place.step)
          .template cast<std::vector<at::Tensor>>();
    });
  }

 private:
  uint64_t seed_ = 0;
  py::object network_;
};

class PythonGenerator : public KeepsIntegers<Generator>,
                        public DrawsFirstValues,
                        public GathersStatistics {
 public:
  PythonGenerator(const PythonConfig& config, const DataShape& data)
      : noise_dim_(config.noise_dim()), module_("generator", config, data) {
    module_.Register(*this);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    const bool translates = noise_dim_ == 0;
    return module_
        .Forward(translates ? condition.images_NCHW : noise_NZ, condition, mode)
        .front();
  }
  int64_t noise_dim() const override { return noise_dim_; }
  void DrawFirstValues(uint64_t seed) override {
    module_.DrawFirstValues(seed);
  }
  bool GatherStatisticsAfresh() override {
    return module_.GatherStatisticsAfresh();
  }

 private:
  const int64_t noise_dim_;
  PythonModule module_;
};

class PythonDiscriminator : public KeepsIntegers<Discriminator>,
                            public DrawsFirstValues,
                            public HasForeignLayers {
 public:
  PythonDiscriminator(const PythonConfig& config, const DataShape& data)
      : module_("discriminator", config, data) {
    module_.Register(*this);
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    return {.logits = Logits(module_.Forward(images_NCHW, condition, mode))};
  }
  void DrawFirstValues(uint64_t seed) override {
    module_.DrawFirstValues(seed);
  }
  std::string WhyTwoPasses() const override { return module_.WhyTwoPasses(); }

 private:
  PythonModule module_;
};

}  // namespace

NetworkHost PythonNetworkHost() {
  return {.make_generator =
              [](const PythonConfig& config, const DataShape& data) {
                return std::make_shared<PythonGenerator>(config, data);
              },
          .make_discriminator =
              [](const PythonConfig& config, const DataShape& data) {
                return std::make_shared<PythonDiscriminator>(config, data);
              }};
}

}  // namespace gandem
