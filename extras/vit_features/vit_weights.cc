// SPDX-License-Identifier: Apache-2.0
#include "extras/vit_features/vit_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/faults.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

// A tensor of the network: what a file calls it and its shape, where a letter
// is a size that the file decides. Of names with '|' between the tensors are
// put one below the other.
template <typename Owner>
struct VitName {
  at::Tensor Owner::*member;
  absl::string_view name;
  absl::string_view shape;
};

// How one kind of file names things.
struct VitNaming {
  VitFamily family;
  absl::string_view patch;   // its first layer
  absl::string_view blocks;  // before a block's number
  std::span<const VitName<VitWeights>> names;
  std::span<const VitName<VitBlock>> block_names;
  std::vector<absl::string_view> unused;  // prefixes
};

constexpr VitName<VitWeights> kMetaNames[] = {
    {&VitWeights::patch_weight, "patch_embed.proj.weight", "W3PP"},
    {&VitWeights::patch_bias, "patch_embed.proj.bias", "W"},
    {&VitWeights::class_token, "cls_token", "11W"},
    {&VitWeights::positions, "pos_embed", "1TW"},
    {&VitWeights::last_norm_weight, "norm.weight", "W"},
    {&VitWeights::last_norm_bias, "norm.bias", "W"}};
constexpr VitName<VitBlock> kMetaBlock[] = {
    {&VitBlock::norm1_weight, "norm1.weight", "W"},
    {&VitBlock::norm1_bias, "norm1.bias", "W"},
    {&VitBlock::qkv_weight, "attn.qkv.weight", "QW"},
    {&VitBlock::qkv_bias, "attn.qkv.bias", "Q"},
    {&VitBlock::out_weight, "attn.proj.weight", "WW"},
    {&VitBlock::out_bias, "attn.proj.bias", "W"},
    {&VitBlock::scale1, "ls1.gamma", "W"},
    {&VitBlock::norm2_weight, "norm2.weight", "W"},
    {&VitBlock::norm2_bias, "norm2.bias", "W"},
    {&VitBlock::expand_weight, "mlp.fc1.weight", "HW"},
    {&VitBlock::expand_bias, "mlp.fc1.bias", "H"},
    {&VitBlock::shrink_weight, "mlp.fc2.weight", "WH"},
    {&VitBlock::shrink_bias, "mlp.fc2.bias", "W"},
    {&VitBlock::scale2, "ls2.gamma", "W"}};

constexpr VitName<VitWeights> kFaceDinoNames[] = {
    {&VitWeights::patch_weight, "embeddings.patch_embeddings.projection.weight",
     "W3PP"},
    {&VitWeights::patch_bias, "embeddings.patch_embeddings.projection.bias",
     "W"},
    {&VitWeights::class_token, "embeddings.cls_token", "11W"},
    {&VitWeights::positions, "embeddings.position_embeddings", "1TW"},
    {&VitWeights::last_norm_weight, "layernorm.weight", "W"},
    {&VitWeights::last_norm_bias, "layernorm.bias", "W"}};
constexpr VitName<VitBlock> kFaceDinoBlock[] = {
    {&VitBlock::norm1_weight, "norm1.weight", "W"},
    {&VitBlock::norm1_bias, "norm1.bias", "W"},
    {&VitBlock::qkv_weight,
     "attention.attention.query.weight|attention.attention.key.weight|"
     "attention.attention.value.weight",
     "WW"},
    {&VitBlock::qkv_bias,
     "attention.attention.query.bias|attention.attention.key.bias|"
     "attention.attention.value.bias",
     "W"},
    {&VitBlock::out_weight, "attention.output.dense.weight", "WW"},
    {&VitBlock::out_bias, "attention.output.dense.bias", "W"},
    {&VitBlock::scale1, "layer_scale1.lambda1", "W"},
    {&VitBlock::norm2_weight, "norm2.weight", "W"},
    {&VitBlock::norm2_bias, "norm2.bias", "W"},
    {&VitBlock::expand_weight, "mlp.fc1.weight", "HW"},
    {&VitBlock::expand_bias, "mlp.fc1.bias", "H"},
    {&VitBlock::shrink_weight, "mlp.fc2.weight", "WH"},
    {&VitBlock::shrink_bias, "mlp.fc2.bias", "W"},
    {&VitBlock::scale2, "layer_scale2.lambda1", "W"}};

// OpenAI's projection is the transpose of Hugging Face's: "WE" is turned round.
constexpr absl::string_view kTransposed = "WE";
constexpr VitName<VitWeights> kOpenNames[] = {
    {&VitWeights::patch_weight, "visual.conv1.weight", "W3PP"},
    {&VitWeights::class_token, "visual.class_embedding", "W"},
    {&VitWeights::positions, "visual.positional_embedding", "TW"},
    {&VitWeights::first_norm_weight, "visual.ln_pre.weight", "W"},
    {&VitWeights::first_norm_bias, "visual.ln_pre.bias", "W"},
    {&VitWeights::last_norm_weight, "visual.ln_post.weight", "W"},
    {&VitWeights::last_norm_bias, "visual.ln_post.bias", "W"},
    {&VitWeights::projection, "visual.proj", kTransposed}};
constexpr VitName<VitBlock> kOpenBlock[] = {
    {&VitBlock::norm1_weight, "ln_1.weight", "W"},
    {&VitBlock::norm1_bias, "ln_1.bias", "W"},
    {&VitBlock::qkv_weight, "attn.in_proj_weight", "QW"},
    {&VitBlock::qkv_bias, "attn.in_proj_bias", "Q"},
    {&VitBlock::out_weight, "attn.out_proj.weight", "WW"},
    {&VitBlock::out_bias, "attn.out_proj.bias", "W"},
    {&VitBlock::norm2_weight, "ln_2.weight", "W"},
    {&VitBlock::norm2_bias, "ln_2.bias", "W"},
    {&VitBlock::expand_weight, "mlp.c_fc.weight", "HW"},
    {&VitBlock::expand_bias, "mlp.c_fc.bias", "H"},
    {&VitBlock::shrink_weight, "mlp.c_proj.weight", "WH"},
    {&VitBlock::shrink_bias, "mlp.c_proj.bias", "W"}};

// "pre_layrnorm" is theirs.
constexpr VitName<VitWeights> kFaceClipNames[] = {
    {&VitWeights::patch_weight,
     "vision_model.embeddings.patch_embedding.weight", "W3PP"},
    {&VitWeights::class_token, "vision_model.embeddings.class_embedding", "W"},
    {&VitWeights::positions,
     "vision_model.embeddings.position_embedding.weight", "TW"},
    {&VitWeights::first_norm_weight, "vision_model.pre_layrnorm.weight", "W"},
    {&VitWeights::first_norm_bias, "vision_model.pre_layrnorm.bias", "W"},
    {&VitWeights::last_norm_weight, "vision_model.post_layernorm.weight", "W"},
    {&VitWeights::last_norm_bias, "vision_model.post_layernorm.bias", "W"},
    {&VitWeights::projection, "visual_projection.weight", "EW"}};
constexpr VitName<VitBlock> kFaceClipBlock[] = {
    {&VitBlock::norm1_weight, "layer_norm1.weight", "W"},
    {&VitBlock::norm1_bias, "layer_norm1.bias", "W"},
    {&VitBlock::qkv_weight,
     "self_attn.q_proj.weight|self_attn.k_proj.weight|self_attn.v_proj.weight",
     "WW"},
    {&VitBlock::qkv_bias,
     "self_attn.q_proj.bias|self_attn.k_proj.bias|self_attn.v_proj.bias", "W"},
    {&VitBlock::out_weight, "self_attn.out_proj.weight", "WW"},
    {&VitBlock::out_bias, "self_attn.out_proj.bias", "W"},
    {&VitBlock::norm2_weight, "layer_norm2.weight", "W"},
    {&VitBlock::norm2_bias, "layer_norm2.bias", "W"},
    {&VitBlock::expand_weight, "mlp.fc1.weight", "HW"},
    {&VitBlock::expand_bias, "mlp.fc1.bias", "H"},
    {&VitBlock::shrink_weight, "mlp.fc2.weight", "WH"},
    {&VitBlock::shrink_bias, "mlp.fc2.bias", "W"}};

const std::vector<VitNaming>& VitNamings() {
  static const auto* const namings = new std::vector<VitNaming>{
      {VitFamily::kDinov2,
       "patch_embed.proj.weight",
       "blocks.",
       kMetaNames,
       kMetaBlock,
       {"mask_token"}},
      {VitFamily::kDinov2,
       "embeddings.patch_embeddings.projection.weight",
       "encoder.layer.",
       kFaceDinoNames,
       kFaceDinoBlock,
       {"embeddings.mask_token"}},
      {VitFamily::kClip,
       "visual.conv1.weight",
       "visual.transformer.resblocks.",
       kOpenNames,
       kOpenBlock,
       {"transformer.", "token_embedding.", "positional_embedding", "ln_final.",
        "text_projection", "logit_scale", "input_resolution", "context_length",
        "vocab_size", "attn_mask"}},
      {VitFamily::kClip,
       "vision_model.embeddings.patch_embedding.weight",
       "vision_model.encoder.layers.",
       kFaceClipNames,
       kFaceClipBlock,
       {"text_model.", "text_projection.", "logit_scale",
        "vision_model.embeddings.position_ids"}}};
  return *namings;
}

const VitNaming* FindVitNaming(const std::vector<NamedTensor>& tensors) {
  for (const VitNaming& naming : VitNamings()) {
    if (std::ranges::find(tensors, naming.patch, &NamedTensor::name) !=
        tensors.end()) {
      return &naming;
    }
  }
  return nullptr;
}

// Takes tensors one by one, learns the sizes from the first that has them, and
// remembers all that is wrong.
class VitLoader {
 public:
  VitLoader(const VitNaming& naming, std::vector<NamedTensor> tensors,
            at::Device device)
      : naming_(naming), device_(device) {
    for (NamedTensor& tensor : tensors) {
      std::string name = tensor.name;
      tensors_.emplace(std::move(name), std::move(tensor));
    }
  }

  absl::StatusOr<VitWeights> Load() {
    VitWeights weights;
    weights.family = naming_.family;
    LoadAll("", naming_.names, weights);
    // The first number that no tensor has ends them: others are not of this
    // network.
    while (HasPrefix(BlockPrefix(weights.blocks.size()))) {
      const std::string prefix = BlockPrefix(weights.blocks.size());
      LoadAll(prefix, naming_.block_names, weights.blocks.emplace_back());
    }
    if (weights.blocks.empty()) {
      faults_.Add(absl::StrCat("no block: ", BlockPrefix(0), "... is missing"));
    }
    FindExtra();
    SetSizes(weights);
    GANDEM_RETURN_IF_ERROR(faults_.ToStatus());
    return weights;
  }

 private:
  std::string BlockPrefix(size_t number) const {
    return absl::StrCat(naming_.blocks, number, ".");
  }

  bool HasPrefix(const std::string& prefix) const {
    const auto at = tensors_.lower_bound(prefix);
    return at != tensors_.end() && absl::StartsWith(at->first, prefix);
  }

  template <typename Owner>
  void LoadAll(const std::string& prefix, std::span<const VitName<Owner>> names,
               Owner& owner) {
    for (const auto& [member, name, shape] : names) {
      std::vector<at::Tensor> parts;
      bool complete = true;
      for (const absl::string_view part : absl::StrSplit(name, '|')) {
        parts.push_back(Take(absl::StrCat(prefix, part), shape));
        complete = complete && parts.back().defined();
      }
      if (!complete) continue;
      owner.*member = parts.size() == 1 ? parts[0] : at::cat(parts);
    }
  }

  // Undefined where it is missing or wrong. Axes of size 1 that `shape` has are
  // left out.
  at::Tensor Take(const std::string& name, absl::string_view shape) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      faults_.Add(absl::StrCat(name, " is missing"));
      return {};
    }
    const NamedTensor tensor = std::move(found->second);
    tensors_.erase(found);
    const std::optional<at::Tensor> stored = FloatValuesOf(tensor);
    if (!stored.has_value()) {
      faults_.Add(absl::StrCat(name, " has the type ", DTypeName(tensor.dtype),
                               ", expected floating-point numbers"));
      return {};
    }
    if (!Fits(tensor.shape, shape)) {
      faults_.Add(absl::StrCat(name, " has shape [",
                               absl::StrJoin(tensor.shape, ", "),
                               "], the network wants ", ShapeText(shape)));
      return {};
    }
    at::Tensor values = stored->to(device_);
    while (!shape.empty() && shape[0] == '1') {
      values = values[0];
      shape.remove_prefix(1);
    }
    return shape == kTransposed ? values.t().contiguous() : values;
  }

  // A letter that is not known yet gets this size.
  bool Fits(const std::vector<int64_t>& sizes, absl::string_view shape) {
    if (sizes.size() != shape.size()) return false;
    std::map<char, int64_t> known = sizes_;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (sizes[i] < 1) return false;
      const auto [place, is_new] = known.emplace(shape[i], sizes[i]);
      if (place->second != sizes[i]) return false;
      if (is_new && shape[i] == 'W') known['Q'] = 3 * sizes[i];
    }
    sizes_ = std::move(known);
    return true;
  }

  // "[384, 3, 14, 14]"; what is not known stays a letter.
  std::string ShapeText(absl::string_view shape) const {
    std::vector<std::string> sizes;
    for (const char letter : shape) {
      const auto known = sizes_.find(letter);
      sizes.push_back(known == sizes_.end() ? std::string(1, letter)
                                            : absl::StrCat(known->second));
    }
    return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
  }

  void FindExtra() {
    for (const auto& [name, tensor] : tensors_) {
      const std::string& text = name;
      const auto begins_it = [&text](absl::string_view prefix) {
        return absl::StartsWith(text, prefix);
      };
      if (std::ranges::any_of(naming_.unused, begins_it)) continue;
      faults_.Add(absl::StrCat(name, " is no tensor of such a network"));
    }
  }

  int64_t SizeOf(char letter) const {
    const auto known = sizes_.find(letter);
    return known == sizes_.end() ? 0 : known->second;
  }

  // Where a size is not known, its tensor is among the faults.
  void SetSizes(VitWeights& weights) {
    weights.width = SizeOf('W');
    weights.patch = SizeOf('P');
    const int64_t positions = SizeOf('T');
    weights.grid = std::llround(
        std::sqrt(static_cast<double>(std::max<int64_t>(positions - 1, 0))));
    if (positions != 0 &&
        (weights.grid < 1 || 1 + weights.grid * weights.grid != positions)) {
      faults_.Add(absl::StrCat(
          "there are ", positions,
          " positions, expected one and those of a square of patches"));
    }
    if (weights.width % kVitHeadWidth != 0) {
      faults_.Add(absl::StrCat("the width ", weights.width,
                               " is no multiple of ", kVitHeadWidth,
                               ", which a head has"));
    }
  }

  const VitNaming& naming_;
  const at::Device device_;
  std::map<std::string, NamedTensor> tensors_;  // that were not taken
  std::map<char, int64_t> sizes_ = {{'1', 1}, {'3', 3}};
  Faults faults_{"tensors do not fit"};
};

}  // namespace

std::optional<VitFamily> VitFamilyOf(const std::vector<NamedTensor>& tensors) {
  const VitNaming* const naming = FindVitNaming(tensors);
  if (naming == nullptr) return std::nullopt;
  return naming->family;
}

absl::StatusOr<VitWeights> LoadVitWeights(VitFamily family,
                                          std::vector<NamedTensor> tensors,
                                          at::Device device) {
  const torch::NoGradGuard no_grad;
  const VitNaming* const naming = FindVitNaming(tensors);
  if (naming != nullptr && naming->family == family) {
    return VitLoader(*naming, std::move(tensors), device).Load();
  }
  std::vector<absl::string_view> first_layers;
  for (const VitNaming& known : VitNamings()) {
    if (known.family == family) first_layers.push_back(known.patch);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "not the weights of ",
      family == VitFamily::kClip ? "CLIP's image half" : "DINOv2",
      ": there is no tensor ", absl::StrJoin(first_layers, " or "),
      naming == nullptr
          ? ""
          : (family == VitFamily::kClip
                 ? ", but those of DINOv2: name it with dinov2:FILE"
                 : ", but those of CLIP: name it with clip:FILE")));
}

}  // namespace gandem
