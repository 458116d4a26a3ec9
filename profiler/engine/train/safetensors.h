// SPDX-License-Identifier: Apache-2.0
// Weights in the safetensors format: 8 bytes of little-endian header length, a JSON header with type, shape and place
// of every tensor, then the bytes. Names are those of Hugging Face's GPT-2 and LLaMA files and of torchvision's
// ResNets.
// Source: https://huggingface.co/docs/safetensors, "Format".
#pragma once

#include "model/base/result.h"
#include "profiler/engine/train/parameter_bucket.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// One tensor of a file, values widened to double.
struct StoredTensor {
    std::vector<std::int64_t> shape;
    std::string type;                 ///< "F32", "BF16", "F16", "F64"
    std::uint64_t begin = 0, end = 0; ///< bytes within the data part
};

/// What a header promises, checked against the file's size.
struct SafetensorsHeader {
    std::map<std::string, StoredTensor> tensors;
    std::uint64_t dataOffset = 0; ///< of the data part within the file
};

/// Reads and checks a header: sizes, types, ranges inside the file and without overlap, products without overflow.
/// The file is not trusted. Errors: Io; Format naming what is wrong.
Result<SafetensorsHeader> readSafetensorsHeader(const std::string& file);

/// Element `index` of a floating-point tensor's bytes.
double storedElement(const std::string& type, const char* bytes, std::int64_t index);

/// A tensor that is to be written.
struct TensorToStore {
    std::string name;
    DType type = DType::F32;
    std::vector<std::int64_t> shape;
    std::uint64_t bytes = 0;
};

/// Writes a file that appears complete or not at all, and is on the disk then. data: writes the bytes of the tensors, one
/// behind the other. The folder exists. Errors: Io.
Status writeSafetensors(const std::string& file, const std::vector<TensorToStore>& tensors,
                        const std::function<void(std::ostream&)>& data);

inline constexpr const char* kWeightsFile = "model.safetensors";

/// Writes master weights and buffers as F32 (F64 for double runs) to a file in `directory`, which is created; the file
/// appears complete or not at all. Errors: Io.
Status saveWeights(const std::string& directory, const ParameterList& parameters,
                   const std::string& name = kWeightsFile);

/// Reads a file of `directory` into pieces of parameters, whole or shards, and into buffers; refreshes the pieces' rounded
/// copies. Every tensor must be there with its shape; what else the file holds is ignored. Nothing
/// changes on failure before the copy begins. Errors: Io, Format.
Status loadPieces(RankContext& rank, const std::string& directory, const std::vector<ParameterPiece>& pieces,
                  const std::vector<Parameter*>& buffers, const std::string& name = kWeightsFile);

/// Reads `directory`/model.safetensors into the parameters and refreshes their compute copies. Every parameter must be
/// there with its shape; what else the file holds is ignored. Nothing changes on failure before the copy begins.
/// Errors: Io, Format.
Status loadWeights(RankContext& rank, const std::string& directory, ParameterList& parameters);

} // namespace fourwalls::engine
