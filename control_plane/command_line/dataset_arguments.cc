// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/dataset_arguments.h"

#include <CLI/CLI.hpp>

#include "control_plane/command_line/argument_checks.h"

namespace gandem {
namespace {

constexpr char kDatasetExamples[] =
    "docs/data.md lists the kinds of SOURCE.\n"
    "\n"
    "Examples:\n"
    "  gandem dataset show photos --recipe recipes/dcgan_64.textproto\n"
    "  gandem dataset verify 'shards/train-{000000..000009}.tar'\n"
    "  gandem dataset verify photos --exclude bad.txt\n"
    "  gandem dataset pack photos -o packed --resize 64 --exclude bad.txt\n";

}  // namespace

DatasetArguments::DatasetArguments(CLI::App& app) {
  command_ =
      app.add_subcommand("dataset", "Inspect, verify or repack a dataset");
  command_->footer(kDatasetExamples);
  command_->require_subcommand(1);
  CLI::App* const show = command_->add_subcommand(
      "show",
      "Print counts, classes, sizes and colors, and write a PNG of 64 images");
  verify_ = command_->add_subcommand(
      "verify", "Read every image and list the unreadable ones");
  pack_ = command_->add_subcommand(
      "pack", "Write the images into tar shards with an index");
  for (CLI::App* const command : {show, verify_, pack_}) {
    command
        ->add_option("SOURCE", options_.source,
                     "Dataset: a path or URL (docs/data.md)")
        ->required();
    command->add_option(
        "--exclude", options_.exclude,
        command == verify_
            ? "File to write the list of unreadable images to, for data.exclude"
            : "File with a list of images to leave out");
    command->add_option("--member", options_.member,
                        "Image to use of each WebDataset sample that has "
                        "several, for example mask.png (data.member)");
  }
  AddPack();
  show->add_option(
      "--recipe", options_.recipe,
      "Recipe whose data section decides how images are resized and cropped");
  show->add_option("--image_size", options_.image_size,
                   "Height and width in pixels without --recipe")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  show->add_option("-o,--output", options_.output,
                   "PNG file to write 64 images to")
      ->capture_default_str();
}

void DatasetArguments::AddPack() {
  pack_
      ->add_option(
          "-o,--output", options_.output,
          "Folder for the shards; an interrupted pack in it is resumed")
      ->required();
  pack_
      ->add_option("--shard_bytes", options_.shard_bytes,
                   "Maximum size of the images in a shard, in bytes")
      ->check(AtLeastOne())
      ->capture_default_str();
  CLI::Option* const resize =
      pack_
          ->add_option("--resize", options_.resize,
                       "Height and width, in pixels, to resize all images to, "
                       "as PNG and with Pillow's bicubic kernel (default: copy "
                       "images unchanged)")
          ->check(CLI::Range(1, 4096));
  pack_
      ->add_option("--crop", options_.crop,
                   "Part of an image to resize. CENTER: the largest square in "
                   "the middle; NONE: the whole image, stretched")
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
