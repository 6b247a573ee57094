// SPDX-License-Identifier: Apache-2.0
#include "extras/vit_features/vit_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/faults.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

// A tensor of the network with its shape. A letter is a size that the file
// decides; Q is three times W.
template <typename Owner>
struct VitPlace {
  at::Tensor Owner::*member;
  absl::string_view shape;
};
constexpr VitPlace<VitWeights> kPlaces[] = {
    {&VitWeights::patch_weight, "W3PP"},   {&VitWeights::patch_bias, "W"},
    {&VitWeights::class_token, "W"},       {&VitWeights::positions, "TW"},
    {&VitWeights::first_norm_weight, "W"}, {&VitWeights::first_norm_bias, "W"},
    {&VitWeights::last_norm_weight, "W"},  {&VitWeights::last_norm_bias, "W"},
    {&VitWeights::projection, "EW"}};
constexpr VitPlace<VitBlock> kBlockPlaces[] = {
    {&VitBlock::norm1_weight, "W"}, {&VitBlock::norm1_bias, "W"},
    {&VitBlock::qkv_weight, "QW"},  {&VitBlock::qkv_bias, "Q"},
    {&VitBlock::out_weight, "WW"},  {&VitBlock::out_bias, "W"},
    {&VitBlock::scale1, "W"},       {&VitBlock::norm2_weight, "W"},
    {&VitBlock::norm2_bias, "W"},   {&VitBlock::expand_weight, "HW"},
    {&VitBlock::expand_bias, "H"},  {&VitBlock::shrink_weight, "WH"},
    {&VitBlock::shrink_bias, "W"},  {&VitBlock::scale2, "W"}};

// Names of the tensors above in one kind of file, in the same order. An empty
// name means that there is no such tensor. '*' stands for two tensors, "weight"
// and "bias". '|' separates the names of tensors that are concatenated.
struct VitNaming {
  VitFamily family;
  absl::string_view patch;   // the first layer
  absl::string_view blocks;  // prefix of a block's number
  std::vector<absl::string_view> names;
  std::vector<absl::string_view> block_names;
  std::vector<absl::string_view> unused;  // prefixes
};

// OpenAI's projection is the transpose of Hugging Face's.
constexpr absl::string_view kTransposed = "visual.proj";

// "pre_layrnorm" is Hugging Face's spelling.
const std::vector<VitNaming>& VitNamings() {
  static const auto* const namings = new std::vector<VitNaming>{
      {VitFamily::kDinov2,
       "patch_embed.proj.weight",
       "blocks.",
       {"patch_embed.proj.*", "cls_token", "pos_embed", "", "", "norm.*", ""},
       {"norm1.*", "attn.qkv.*", "attn.proj.*", "ls1.gamma", "norm2.*",
        "mlp.fc1.*", "mlp.fc2.*", "ls2.gamma"},
       {"mask_token"}},
      {VitFamily::kDinov2,
       "embeddings.patch_embeddings.projection.weight",
       "encoder.layer.",
       {"embeddings.patch_embeddings.projection.*", "embeddings.cls_token",
        "embeddings.position_embeddings", "", "", "layernorm.*", ""},
       {"norm1.*",
        "attention.attention.query.*|attention.attention.key.*|"
        "attention.attention.value.*",
        "attention.output.dense.*", "layer_scale1.lambda1", "norm2.*",
        "mlp.fc1.*", "mlp.fc2.*", "layer_scale2.lambda1"},
       {"embeddings.mask_token"}},
      {VitFamily::kClip,
       "visual.conv1.weight",
       "visual.transformer.resblocks.",
       {"visual.conv1.weight", "", "visual.class_embedding",
        "visual.positional_embedding", "visual.ln_pre.*", "visual.ln_post.*",
        kTransposed},
       {"ln_1.*", "attn.in_proj_*", "attn.out_proj.*", "", "ln_2.*",
        "mlp.c_fc.*", "mlp.c_proj.*", ""},
       {"transformer.", "token_embedding.", "positional_embedding", "ln_final.",
        "text_projection", "logit_scale", "input_resolution", "context_length",
        "vocab_size", "attn_mask"}},
      {VitFamily::kClip,
       "vision_model.embeddings.patch_embedding.weight",
       "vision_model.encoder.layers.",
       {"vision_model.embeddings.patch_embedding.weight", "",
        "vision_model.embeddings.class_embedding",
        "vision_model.embeddings.position_embedding.weight",
        "vision_model.pre_layrnorm.*", "vision_model.post_layernorm.*",
        "visual_projection.weight"},
       {"layer_norm1.*",
        "self_attn.q_proj.*|self_attn.k_proj.*|self_attn.v_proj.*",
        "self_attn.out_proj.*", "", "layer_norm2.*", "mlp.fc1.*", "mlp.fc2.*",
        ""},
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

// Takes tensors one by one, learns each size from the first tensor that has it,
// and collects all faults.
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
    LoadAll("", naming_.names, kPlaces, weights);
    // Blocks are numbered without gaps; FindExtra reports later ones.
    while (HasPrefix(BlockPrefix(weights.blocks.size()))) {
      const std::string prefix = BlockPrefix(weights.blocks.size());
      LoadAll(prefix, naming_.block_names, kBlockPlaces,
              weights.blocks.emplace_back());
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
  void LoadAll(const std::string& prefix,
               const std::vector<absl::string_view>& names,
               const VitPlace<Owner>* place, Owner& owner) {
    for (const absl::string_view name : names) {
      if (!absl::StrContains(name, '*')) {
        owner.*place->member = Load(prefix, name, place->shape);
        ++place;
        continue;
      }
      for (const char* const part : {"weight", "bias"}) {
        owner.*place->member = Load(
            prefix, absl::StrReplaceAll(name, {{"*", part}}), place->shape);
        ++place;
      }
    }
  }

  // Returns an undefined tensor if there is none, or if a part is missing or
  // wrong.
  at::Tensor Load(const std::string& prefix, absl::string_view name,
                  absl::string_view shape) {
    if (name.empty()) return {};
    if (!absl::StrContains(name, '|')) {
      return Take(absl::StrCat(prefix, name), shape);
    }
    std::vector<at::Tensor> parts;
    bool complete = true;
    for (const absl::string_view part : absl::StrSplit(name, '|')) {
      parts.push_back(Take(absl::StrCat(prefix, part),
                           absl::StrReplaceAll(shape, {{"Q", "W"}})));
      complete = complete && parts.back().defined();
    }
    return complete ? at::cat(parts) : at::Tensor();
  }

  // Returns an undefined tensor if it is missing or wrong. Removes leading axes
  // of size 1 that `shape` does not have.
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
    const bool transposed = name == kTransposed && stored->dim() == 2;
    at::Tensor values = transposed ? stored->t() : *stored;
    while (values.dim() > std::ssize(shape) && values.size(0) == 1) {
      values = values[0];
    }
    if (Fits(values.sizes(), shape)) return values.to(device_).contiguous();
    faults_.Add(absl::StrCat(name, " has shape [",
                             absl::StrJoin(tensor.shape, ", "),
                             "], the network wants ", ShapeText(shape)));
    return {};
  }

  // Assigns sizes to the letters that are not yet known.
  bool Fits(at::IntArrayRef sizes, absl::string_view shape) {
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

  // "[384, 3, 14, 14]"; an unknown size stays a letter.
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
      faults_.Add(absl::StrCat(name, " is not a tensor of such a network"));
    }
  }

  int64_t SizeOf(char letter) const {
    const auto known = sizes_.find(letter);
    return known == sizes_.end() ? 0 : known->second;
  }

  // If a size is unknown, its tensor is already among the faults.
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
                               " is not a multiple of ", kVitHeadWidth,
                               ", the width of a head"));
    }
  }

  const VitNaming& naming_;
  const at::Device device_;
  std::map<std::string, NamedTensor> tensors_;  // not taken yet
  std::map<char, int64_t> sizes_ = {{'3', 3}};
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
      naming == nullptr ? ""
                        : (family == VitFamily::kClip
                               ? "; the tensors are DINOv2's: use dinov2:FILE"
                               : "; the tensors are CLIP's: use clip:FILE")));
}

}  // namespace gandem
