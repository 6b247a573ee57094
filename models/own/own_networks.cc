// SPDX-License-Identifier: Apache-2.0
#include "models/own/own_networks.h"

#include <ATen/Context.h>
#include <torch/nn/modules/batchnorm.h>

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files/nearest.h"
#include "common/status.h"
#include "models/foreign_network.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

std::vector<OwnNetworks>& NamedNetworks() {
  static std::vector<OwnNetworks> networks;
  return networks;
}

absl::Status NoSuchNetworks(const std::string& name) {
  std::vector<std::string> names;
  for (const OwnNetworks& networks : NamedNetworks()) {
    names.push_back(networks.name);
  }
  if (names.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "network.own.name '", name, "': this program has no networks of its ",
        "own. Start `gandem` with GANDEM_WORKER=PATH of the program that has ",
        "them (docs/library.md)"));
  }
  const std::string guess = DidYouMean(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "network.own.name '", name, "': this program has no networks of that ",
      "name; ", guess, guess.empty() ? "" : " ", "It has ",
      absl::StrJoin(names, ", ")));
}

absl::StatusOr<const OwnNetworks*> FindNetworks(const std::string& name) {
  for (const OwnNetworks& networks : NamedNetworks()) {
    if (networks.name == name) return &networks;
  }
  return NoSuchNetworks(name);
}

NetworkShape ShapeOf(const OwnConfig& config, const DataShape& data) {
  return {.channels = data.image.channels,
          .height = data.image.height,
          .width = data.image.width,
          .num_classes = data.num_classes,
          .options = config.options()};
}

bool IsBatchNorm(const torch::nn::Module& module) {
  return dynamic_cast<const torch::nn::BatchNorm1dImpl*>(&module) != nullptr ||
         dynamic_cast<const torch::nn::BatchNorm2dImpl*>(&module) != nullptr ||
         dynamic_cast<const torch::nn::BatchNorm3dImpl*>(&module) != nullptr;
}

// Restores buffers changed by a pass.
class KeptBuffers {
 public:
  explicit KeptBuffers(const torch::nn::Module& network) {
    const torch::NoGradGuard no_grad;
    for (const auto& module : network.modules()) {
      for (const auto& item : module->named_buffers(/*recurse=*/false)) {
        if (!item.value().defined()) continue;
        kept_.push_back({.buffer = item.value(),
                         .value = item.value().clone(),
                         .version = item.value()._version(),
                         .of_batch_norm = IsBatchNorm(*module)});
      }
    }
  }

  // Bypasses LibTorch's version check only for batch norm, whose training
  // backward pass does not read its averages. For other buffers, a backward
  // pass that needs the changed values must fail.
  void PutBack() const {
    const torch::NoGradGuard no_grad;
    for (const Kept& kept : kept_) {
      if (kept.of_batch_norm) {
        kept.buffer.variable_data().copy_(kept.value);
      } else if (kept.buffer._version() != kept.version) {
        at::Tensor(kept.buffer).copy_(kept.value);
      }
    }
  }

 private:
  struct Kept {
    at::Tensor buffer;
    at::Tensor value;
    int64_t version;
    bool of_batch_norm;
  };
  std::vector<Kept> kept_;
};

void CopyValues(const torch::nn::Module& from, const torch::nn::Module& to,
                const std::string& networks) {
  const torch::NoGradGuard no_grad;
  const auto copy = [&](const auto& sources, const auto& targets) {
    TORCH_CHECK(sources.size() == targets.size(),
                "the constructor of a network makes other tensors each time");
    for (size_t i = 0; i < sources.size(); ++i) {
      at::Tensor target = targets[i].value();
      TORCH_CHECK_VALUE(!target.is_alias_of(sources[i].value()), "networks '",
                        networks,
                        "': all copies of a network share the tensor ",
                        sources[i].key(), ": make it in the constructor");
      target.copy_(sources[i].value());
    }
  };
  copy(from.named_parameters(), to.named_parameters());
  copy(from.named_buffers(), to.named_buffers());
}

void CheckNetworkMade(const torch::nn::Module* made, const std::string& name) {
  TORCH_CHECK_VALUE(made != nullptr, "networks '", name,
                    "': the function that makes one has made none");
  for (const auto& item : made->named_parameters()) {
    TORCH_CHECK_VALUE(item.value().scalar_type() == at::kFloat, "networks '",
                      name, "': parameter ", item.key(), " is of type ",
                      item.value().scalar_type(), ", not float32");
  }
}

// Common code of both roles' networks. `Base` is gandem's Generator or
// Discriminator, `Own` is the user's.
template <typename Base, typename Own>
class AdaptedNetwork : public Base, public DrawsFirstValues {
 public:
  using Maker = std::function<std::shared_ptr<Own>(const NetworkShape&)>;

  AdaptedNetwork(std::string name, Maker make, NetworkShape shape)
      : name_(std::move(name)),
        make_(std::move(make)),
        shape_(std::move(shape)) {
    std::shared_ptr<Own> made = make_(shape_);
    CheckNetworkMade(made.get(), name_);
    own_ = this->register_module("own", std::move(made));
  }

  void DrawFirstValues(uint64_t seed) override {
    at::manual_seed(seed);
    CopyValues(*make_(shape_), *own_, name_);
  }

 protected:
  at::Tensor Pass(const at::Tensor& input, const at::Tensor& labels_N,
                  ForwardMode mode) {
    const bool trains = mode != ForwardMode::kEvaluate;
    if (own_->is_training() != trains) own_->train(trains);
    if (mode == ForwardMode::kTrain) return own_->forward(input, labels_N);
    const KeptBuffers kept(*own_);
    at::Tensor output = own_->forward(input, labels_N);
    kept.PutBack();
    return output;
  }

  const Own& own() const { return *own_; }
  const NetworkShape& shape() const { return shape_; }
  const std::string& networks() const { return name_; }

 private:
  const std::string name_;
  const Maker make_;
  const NetworkShape shape_;
  std::shared_ptr<Own> own_;
};

class AdaptedGenerator : public AdaptedNetwork<Generator, OwnGenerator> {
 public:
  using AdaptedNetwork::AdaptedNetwork;

  at::Tensor forward(const at::Tensor& noise_NZ, const Condition& condition,
                     ForwardMode mode) override {
    at::Tensor images = Pass(noise_NZ, condition.labels_N, mode);
    const std::vector<int64_t> wanted = {noise_NZ.size(0), shape().channels,
                                         shape().height, shape().width};
    TORCH_CHECK_VALUE(images.defined() && images.sizes() == wanted,
                      "networks '", networks(),
                      "': the generator's images are ",
                      images.defined() ? images.sizes() : at::IntArrayRef(),
                      ", those of this run ", at::IntArrayRef(wanted));
    return images;
  }

  int64_t noise_dim() const override { return own().noise_dim(); }
};

class AdaptedDiscriminator
    : public AdaptedNetwork<Discriminator, OwnDiscriminator> {
 public:
  using AdaptedNetwork::AdaptedNetwork;

  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    at::Tensor logits = Pass(images_NCHW, condition.labels_N, mode);
    TORCH_CHECK_VALUE(
        logits.defined() && logits.dim() > 0 &&
            logits.size(0) == images_NCHW.size(0),
        "networks '", networks(), "': the discriminator's logits are ",
        logits.defined() ? logits.sizes() : at::IntArrayRef(), ", for ",
        images_NCHW.size(0), " images; their number comes first");
    // [N, 1] is also one logit per image.
    return {.logits = logits.dim() == 2 && logits.size(1) == 1
                          ? logits.squeeze(1)
                          : logits};
  }
};

}  // namespace

absl::Status SetOwnNetworks(std::vector<OwnNetworks> networks) {
  std::set<std::string> names;
  for (const OwnNetworks& one : networks) {
    if (one.name.empty()) {
      return absl::InvalidArgumentError(
          "networks of your own need a name, for network.own.name of configs");
    }
    if (!one.make_generator || !one.make_discriminator) {
      return absl::InvalidArgumentError(absl::StrCat(
          "networks '", one.name,
          "': make_generator and make_discriminator are both required"));
    }
    if (!names.insert(one.name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "two networks have the name '", one.name, "': rename one of them"));
    }
  }
  NamedNetworks() = std::move(networks);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Generator>> MakeOwnGenerator(
    const OwnConfig& config, const DataShape& data) {
  GANDEM_ASSIGN_OR_RETURN(const OwnNetworks* const networks,
                          FindNetworks(config.name()));
  return std::make_shared<AdaptedGenerator>(
      networks->name, networks->make_generator, ShapeOf(config, data));
}

absl::StatusOr<std::shared_ptr<Discriminator>> MakeOwnDiscriminator(
    const OwnConfig& config, const DataShape& data) {
  GANDEM_ASSIGN_OR_RETURN(const OwnNetworks* const networks,
                          FindNetworks(config.name()));
  return std::make_shared<AdaptedDiscriminator>(
      networks->name, networks->make_discriminator, ShapeOf(config, data));
}

}  // namespace gandem
