// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/dataset_arguments.h"

#include <CLI/CLI.hpp>

#include "control_plane/command_line/argument_checks.h"

namespace gandem {
namespace {

constexpr char kDatasetExamples[] =
    "docs/data.md says what SOURCE may be.\n"
    "\n"
    "Examples:\n"
    "  gandem dataset show photos --recipe recipes/dcgan_64.textproto\n"
    "  gandem dataset verify 'shards/train-{000000..000009}.tar'\n"
    "  gandem dataset verify photos --exclude bad.txt\n"
    "  gandem dataset pack photos -o packed --resize 64 --exclude bad.txt\n";

}  // namespace

DatasetArguments::DatasetArguments(CLI::App& app) {
  command_ = app.add_subcommand(
      "dataset", "Show what a source of images is, read or pack all of it");
  command_->footer(kDatasetExamples);
  command_->require_subcommand(1);
  CLI::App* const show = command_->add_subcommand(
      "show",
      "Count, classes, sizes, colors, and 64 images as training sees them");
  verify_ = command_->add_subcommand(
      "verify", "Read every image and name each that cannot be read");
  pack_ = command_->add_subcommand(
      "pack", "Write the images into tar shards with an index");
  for (CLI::App* const command : {show, verify_, pack_}) {
    command->add_option("SOURCE", options_.source, "Images of any kind")
        ->required();
    command->add_option("--exclude", options_.exclude,
                        command == verify_
                            ? "Write those that cannot be read into this "
                              "list, for data.exclude"
                            : "List of images to leave out");
    command->add_option("--member", options_.member,
                        "Image of each WebDataset sample that has several, "
                        "for example mask.png (data.member)");
  }
  AddPack();
  show->add_option("--recipe", options_.recipe,
                   "Recipe that says how training sees them");
  show->add_option("--image_size", options_.image_size,
                   "Height and width without a recipe")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  show->add_option("-o,--output", options_.output, "PNG of 64 images")
      ->capture_default_str();
}

void DatasetArguments::AddPack() {
  pack_
      ->add_option("-o,--output", options_.output,
                   "Folder for the shards, new or of this command before: "
                   "it goes on then")
      ->required();
  pack_
      ->add_option("--shard_bytes", options_.shard_bytes,
                   "Bytes of images in a shard, at most")
      ->check(AtLeastOne())
      ->capture_default_str();
  CLI::Option* const resize =
      pack_
          ->add_option("--resize", options_.resize,
                       "Height and width of all images, as PNG, by Pillow's "
                       "bicubic kernel [as they are]")
          ->check(CLI::Range(1, 4096));
  pack_
      ->add_option("--crop", options_.crop,
                   "What of them is resized. CENTER: the largest square in "
                   "the middle; NONE: all, stretched")
      ->check(CLI::IsMember({"CENTER", "NONE"}))
      ->needs(resize)
      ->capture_default_str();
}

std::optional<DatasetOptions> DatasetArguments::Given() const {
  if (!command_->parsed()) return std::nullopt;
  DatasetOptions given = options_;
  if (verify_->parsed()) {
    given.action = DatasetAction::kVerify;
  } else if (pack_->parsed()) {
    given.action = DatasetAction::kPack;
  }
  return given;
}

}  // namespace gandem
