// SPDX-License-Identifier: Apache-2.0
// Training text: every byte is one token, and every sample is a random stretch of the text.
#pragma once

#include "model/base/result.h"
#include "model/spec/packed_documents.h"
#include "profiler/engine/train/data_source.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::engine {

class TextData final : public DataSource {
public:
    /// file: any file; empty: the built-in text. documents: of what lengths the samples are packed with.
    /// Errors: Io if it cannot be read, InvalidArgument if it is shorter than one sample.
    static Result<TextData> open(const std::string& file, std::int64_t sequence, std::uint64_t seed,
                                 std::vector<DocumentLength> documents = {});

    std::int64_t sampleBytes(std::int64_t length) const override { return 2 * length * bytesOf(DType::I32); }
    std::shared_ptr<const std::vector<std::int64_t>> documents(std::int64_t step, std::int64_t globalBatch,
                                                               std::int64_t first, std::int64_t count,
                                                               std::int64_t length = 0) const override;
    /// Targets are the inputs moved on by one byte. Under context parallelism: the rank's positions of each sample.
    Batch batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first, std::int64_t count,
                std::int64_t length = 0) const override;

private:
    std::string m_owned;
    bool m_builtin = false;
    std::int64_t m_sequence = 0;
    std::uint64_t m_seed = 0;
    std::vector<DocumentLength> m_documents;

    std::string_view text() const;
};

} // namespace fourwalls::engine
