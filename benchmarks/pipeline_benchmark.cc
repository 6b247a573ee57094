// SPDX-License-Identifier: Apache-2.0
//
// Measures images/s of reading JPEG files: on one core, compared with
// libjpeg-turbo alone on the same files, and by the prefetcher with 1 thread to
// one thread per core.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// The header of libjpeg needs cstdio before it.
#include <jpeglib.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "benchmarks/measure.h"
#include "common/check.h"
#include "common/process/cores.h"
#include "pipeline/feed/prefetcher.h"
#include "pipeline/fitted_images.h"
#include "pipeline/formats/tar.h"
#include "pipeline/sources/image_sources.h"

namespace gandem {
namespace {

struct Options {
  std::string source;     // empty: generated images
  int64_t images = 2000;  // number of generated images
  int64_t side = 256;     // pixels of a side of a generated image
  int64_t batch = 64;
  double seconds = 3;  // per measurement
  int64_t repetitions = 3;
};

// Makes an image of slow waves of color with noise, whose JPEG file is about as
// large as that of a photograph.
std::vector<uint8_t> MadeUpPixels(int64_t side, uint32_t seed) {
  std::vector<uint8_t> pixels;
  uint32_t state = 2654435761u * (seed + 1);
  for (int64_t i = 0; i < side * side * 3; ++i) {
    const double x = static_cast<double>(i / 3 % side) / 17 + seed;
    const double y = static_cast<double>(i / 3 / side) / 23;
    state = state * 1664525u + 1013904223u;
    const double noise = static_cast<double>(state >> 27);
    pixels.push_back(static_cast<uint8_t>(
        112 + 60 * std::sin(x + static_cast<double>(i % 3)) * std::cos(y) +
        noise));
  }
  return pixels;
}

std::string MadeUpJpeg(int64_t side, uint32_t seed) {
  std::vector<uint8_t> pixels = MadeUpPixels(side, seed);
  jpeg_error_mgr errors;
  jpeg_compress_struct jpeg;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = jpeg.image_height = static_cast<JDIMENSION>(side);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = pixels.data() + jpeg.next_scanline * side * 3;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return text;
}

// Decodes with libjpeg-turbo alone and its default options.
void DecodeBare(const std::string& bytes, std::vector<uint8_t>& pixels) {
  jpeg_error_mgr errors;
  jpeg_decompress_struct jpeg;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  const size_t row_bytes = size_t{3} * jpeg.output_width;
  pixels.resize(row_bytes * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels.data() + jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
}

// Returns images per second of CPU time while one thread calls `one` for image
// after image.
double RateOfCore(double seconds, int64_t images, auto&& one) {
  const std::clock_t begin = std::clock();
  int64_t done = 0;
  double spent = 0;
  do {
    one(done % images);
    ++done;
    spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  } while (spent < seconds);
  return static_cast<double>(done) / spent;
}

std::unique_ptr<const Dataset> Fitted(const std::string& path, int64_t size) {
  auto source = OpenSource(path);
  GANDEM_CHECK_OK(source.status());
  auto images = FittedImages::Create(*std::move(source),
                                     {.size = size,
                                      .channels = 3,
                                      .crop = CropPlace::kCenter,
                                      .kernel = ResizeKernel::kBicubic});
  GANDEM_CHECK_OK(images.status());
  return *std::move(images);
}

std::vector<std::string> StoredBytes(const Dataset& images) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < images.size(); ++i) {
    auto stored = images.Fetch(i);
    GANDEM_CHECK_OK(stored.status());
    all.push_back(std::move(stored->image));
  }
  return all;
}

// Returns images per second of wall time for a trainer without computation.
double RateOfPrefetcher(std::shared_ptr<const Dataset> images, int workers,
                        const Options& options) {
  auto prefetcher = Prefetcher::Create(
      std::move(images),
      {.seed = 1, .batch_size = options.batch, .max_workers = workers});
  GANDEM_CHECK_OK(prefetcher.status());
  const auto take = [&prefetcher] {
    GANDEM_CHECK_OK((*prefetcher)->Next(absl::InfiniteFuture()).status());
  };
  // Lets the controller find its setting.
  const absl::Time warm = absl::Now() + absl::Seconds(options.seconds / 2);
  while (absl::Now() < warm) take();
  const absl::Time begin = absl::Now();
  int64_t batches = 0;
  double spent = 0;
  do {
    take();
    ++batches;
    spent = absl::ToDoubleSeconds(absl::Now() - begin);
  } while (spent < options.seconds);
  return static_cast<double>(batches * options.batch) / spent;
}

nlohmann::json MeasureSize(const std::string& path, int64_t size,
                           const Options& options) {
  const std::shared_ptr<const Dataset> images = Fitted(path, size);
  const std::vector<std::string> stored = StoredBytes(*images);
  std::vector<uint8_t> pixels;
  std::vector<float> values(static_cast<size_t>(images->shape().NumValues()));
  std::vector<double> bare;
  std::vector<double> ours;
  for (int64_t i = 0; i < options.repetitions; ++i) {
    bare.push_back(
        RateOfCore(options.seconds, images->size(), [&](int64_t image) {
          DecodeBare(stored[static_cast<size_t>(image)], pixels);
        }));
    ours.push_back(
        RateOfCore(options.seconds, images->size(), [&](int64_t image) {
          GANDEM_CHECK_OK(
              images->ReadSample(image, {.seed = 1, .number = image}, values)
                  .status());
        }));
  }
  nlohmann::json result = {{"size", size},
                           {"bare_images_per_second", Spread(bare).ToJson()},
                           {"images_per_second", Spread(ours).ToJson()},
                           {"share_of_bare", Median(ours) / Median(bare)}};
  absl::PrintF(
      "%4d px: %.0f images/s of a core, libjpeg-turbo alone %.0f: "
      "%.2f of it\n",
      size, Median(ours), Median(bare), Median(ours) / Median(bare));
  double before = 0;
  const int cores = static_cast<int>(std::ssize(AllowedCores()));
  for (int workers = 1; workers <= cores; ++workers) {
    const double rate = RateOfPrefetcher(images, workers, options);
    result["threads"].push_back(
        {{"workers", workers}, {"images_per_second", rate}});
    absl::PrintF("         %2d threads: %.0f images/s, %.0f more\n", workers,
                 rate, rate - before);
    before = rate;
  }
  return result;
}

std::string MakeUpTar(const std::string& folder, const Options& options) {
  const std::string path = folder + "/images.tar";
  auto tar = TarWriter::Create(path);
  GANDEM_CHECK_OK(tar.status());
  for (int64_t i = 0; i < options.images; ++i) {
    GANDEM_CHECK_OK(
        tar->Add(absl::StrFormat("%06d.jpg", i),
                 MadeUpJpeg(options.side, static_cast<uint32_t>(i))));
  }
  GANDEM_CHECK_OK(tar->Finish());
  return path;
}

nlohmann::json Measure(const Options& options) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "gandem-XXXXXX").string();
  GANDEM_CHECK(mkdtemp(folder.data()) != nullptr);
  const std::string path =
      options.source.empty() ? MakeUpTar(folder, options) : options.source;
  nlohmann::json result = {{"source", options.source}};
  for (const int64_t size : {64, 256}) {
    result["sizes"].push_back(MeasureSize(path, size, options));
  }
  std::filesystem::remove_all(folder);
  return result;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  CLI::App app("Images/s of reading JPEG files");
  gandem::Options options;
  std::string json;
  app.add_option("--source", options.source,
                 "Folder or tar of RGB JPEG images [generated]");
  app.add_option("--images", options.images, "Number of generated images")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--side", options.side, "Side of a generated image in pixels")
      ->check(CLI::Range(8, 4096))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Images per batch")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Seconds per measurement")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions,
                 "Repetitions of the measurements on one core")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", json, "JSON file for the result");
  CLI11_PARSE(app, argc, argv);
  gandem::WriteResult(json, gandem::Measure(options));
  return 0;
}
