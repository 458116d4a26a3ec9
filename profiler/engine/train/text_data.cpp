// SPDX-License-Identifier: Apache-2.0
// See text_data.h.
#include "profiler/engine/train/text_data.h"

#include "profiler/engine/nn/sequence_split.h"
#include "profiler/engine/train/builtin_text.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

namespace fourwalls::engine {

namespace {

constexpr std::uintmax_t kLargestText = std::uintmax_t{1} << 30;
constexpr std::uint64_t kSampleStream = 0x5a4d504cull;

} // namespace

std::string_view TextData::text() const
{
    return m_builtin ? builtinText() : std::string_view(m_owned);
}

Result<TextData> TextData::open(const std::string& file, std::int64_t sequence, std::uint64_t seed,
                                std::vector<DocumentLength> documents)
{
    TextData data;
    data.m_sequence = sequence;
    data.m_seed = seed;
    data.m_documents = std::move(documents);
    data.m_builtin = file.empty();
    if (!data.m_builtin) {
        std::error_code problem;
        if (!std::filesystem::is_regular_file(file, problem))
            return Error{ErrorCode::Io, "is not a readable file", file, "--data FILE with any text file"};
        const auto size = std::filesystem::file_size(file, problem);
        if (problem) return Error{ErrorCode::Io, "cannot be read: " + problem.message(), file, "another file"};
        if (size > kLargestText) return Error{ErrorCode::InvalidArgument, "is larger than 1 GiB", file, "a part of it"};
        std::ifstream in(file, std::ios::binary);
        data.m_owned.resize(size);
        if (!in || !in.read(data.m_owned.data(), static_cast<std::streamsize>(size)))
            return Error{ErrorCode::Io, std::string("cannot be read: ") + std::strerror(errno), file, "another file"};
    }
    if (static_cast<std::int64_t>(data.text().size()) < sequence + 1)
        return Error{ErrorCode::InvalidArgument,
                     "holds " + std::to_string(data.text().size()) + " bytes, but one sample takes " +
                         std::to_string(sequence + 1),
                     file, "a longer text or a shorter --seq"};
    return data;
}

std::shared_ptr<const std::vector<std::int64_t>> TextData::documents(std::int64_t step, std::int64_t globalBatch,
                                                                     std::int64_t first, std::int64_t count,
                                                                     std::int64_t length) const
{
    if (m_documents.empty()) return {};
    if (length == 0) length = m_sequence;
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto sample = static_cast<std::uint64_t>(step * globalBatch + first + i);
        const std::vector<std::int64_t> own = packedDocuments(m_documents, length, m_seed, sample);
        all.insert(all.end(), own.begin(), own.end());
    }
    return std::make_shared<const std::vector<std::int64_t>>(std::move(all));
}

Batch TextData::batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first,
                      std::int64_t count, std::int64_t length) const
{
    if (length == 0) length = m_sequence;
    const SequenceSplit split = SequenceSplit::of(rank, length);
    const auto token = [&] {
        return Tensor::make(rank.allocator, {count, split.length()}, DType::I32, MemoryCategory::Other);
    };
    Batch batch{token(), token(), count, length};
    batch.documents = documents(step, globalBatch, first, count, length);
    const RandomStream random(m_seed, kSampleStream);
    const std::string_view all = text();
    const auto starts = static_cast<std::uint64_t>(static_cast<std::int64_t>(all.size()) - m_sequence);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto sample = static_cast<std::uint64_t>(step * globalBatch + first + i);
        const auto start = static_cast<std::int64_t>(random.below(sample, starts));
        std::int32_t* in = batch.inputs.as<std::int32_t>() + i * split.length();
        std::int32_t* out = batch.targets.as<std::int32_t>() + i * split.length();
        for (std::int64_t t = 0; t < split.length(); ++t) {
            const auto at = static_cast<std::size_t>(start + split.position(t));
            in[t] = static_cast<unsigned char>(all[at]);
            out[t] = static_cast<unsigned char>(all[at + 1]);
        }
    }
    return batch;
}

} // namespace fourwalls::engine
