// SPDX-License-Identifier: Apache-2.0
// See state_files.h.
#include "profiler/engine/train/state_files.h"

#include "model/base/disk.h"
#include "model/base/fnv_hash.h"
#include "model/spec/names.h"
#include "profiler/engine/train/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <new>

namespace fourwalls::engine {

namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "checkpoint.json";
constexpr const char* kFolderName = "step-";
constexpr const char* kUnfinishedName = ".unfinished-step-";
constexpr const char* kCompleting = "completing"; // by one of the ranks that wrote its shards
constexpr std::size_t kCheckpointsKept = 2;

Result<std::uint64_t> sumOf(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    std::uint64_t sum = kFnvBasis;
    std::array<char, 1 << 16> piece;
    while (in) {
        in.read(piece.data(), piece.size());
        sum = fnvHash({piece.data(), static_cast<std::size_t>(in.gcount())}, sum);
    }
    if (!in.eof()) return Error{ErrorCode::Io, "cannot be read", file, "another checkpoint"};
    return sum;
}

/// What a checkpoint can only be continued with.
nlohmann::json identityOf(const RunSpec& spec)
{
    return {
        {"model", spec.model.name},     {"optimizer", std::string(wordOf(kOptimizerWords, spec.training.optimizer))},
        {"batch", spec.training.batch}, {"sequence", spec.training.sequence},
        {"seed", spec.training.seed},   {"parameters", parameterCount(spec.model)}};
}

std::optional<std::int64_t> stepOfName(const std::string& name)
{
    const std::string_view prefix = kFolderName;
    std::int64_t step = -1;
    if (!name.starts_with(prefix)) return std::nullopt;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + prefix.size(), end, step);
    return parsed.ec == std::errc() && parsed.ptr == end && step >= 0 ? std::optional(step) : std::nullopt;
}

/// The manifest of a whole checkpoint; absent: something is missing or torn.
std::optional<nlohmann::json> wholeManifest(const std::string& directory)
{
    std::ifstream in(directory + "/" + kManifest);
    const nlohmann::json manifest = nlohmann::json::parse(in, nullptr, false);
    if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_object() ||
        !manifest.contains("step") || !manifest["step"].is_number_integer() || manifest["files"].empty() ||
        !manifest.contains("training") || !manifest["training"].is_object())
        return std::nullopt;
    if (const auto shards = manifest.find("shards"); shards != manifest.end())
        if (!shards->is_number_unsigned() || shards->get<std::uint64_t>() * 2 != manifest["files"].size())
            return std::nullopt;
    for (const auto& [name, sum] : manifest["files"].items()) {
        if (name.find('/') != std::string::npos || !sum.is_string()) return std::nullopt;
        const auto found = sumOf(directory + "/" + name);
        if (!found.ok() || std::to_string(*found) != sum.get<std::string>()) return std::nullopt;
    }
    return manifest;
}

std::string unfinished(const std::string& folder, std::int64_t step)
{
    return folder + "/" + kUnfinishedName + std::to_string(step);
}

/// shards: of how many ranks, each with a file; 0: the files are the whole network's.
Status writeManifest(const std::string& directory, const RunSpec& spec, std::int64_t step,
                     const std::vector<std::int64_t>& skipped, int shards, const std::vector<std::string>& files)
{
    nlohmann::json manifest{{"format", 1}, {"step", step}, {"training", identityOf(spec)}, {"skipped", skipped}};
    if (shards > 0) manifest["shards"] = shards;
    for (const std::string& file : files) {
        FOURWALLS_TRY_ASSIGN(const std::uint64_t sum, sumOf(directory + "/" + file));
        manifest["files"][file] = std::to_string(sum);
    }
    std::ofstream out(directory + "/" + kManifest, std::ios::trunc);
    out << manifest.dump(1) << '\n';
    out.close();
    if (!out) return Error{ErrorCode::Io, "cannot be written", directory, "a folder with free space"};
    return bringToDisk(directory + "/" + kManifest);
}

/// Folders of checkpoints by their number, the newest first.
std::vector<std::pair<std::int64_t, std::string>> checkpointsIn(const std::string& folder)
{
    std::vector<std::pair<std::int64_t, std::string>> found;
    std::error_code problem;
    fs::directory_iterator entry(folder, problem);
    for (; !problem && entry != fs::directory_iterator(); entry.increment(problem))
        if (const auto step = stepOfName(entry->path().filename().string())) found.emplace_back(*step, entry->path());
    std::sort(found.rbegin(), found.rend());
    return found;
}

/// Gives a complete checkpoint its name, and removes all but the newest.
Status putInPlace(const std::string& folder, std::int64_t step)
{
    const std::string final = folder + "/" + kFolderName + std::to_string(step);
    std::error_code problem;
    fs::remove_all(final, problem);
    fs::rename(unfinished(folder, step), final, problem);
    if (problem) return Error{ErrorCode::Io, "cannot be put in place: " + problem.message(), final, "another folder"};
    FOURWALLS_TRY(bringToDisk(folder));
    const auto all = checkpointsIn(folder);
    for (std::size_t i = kCheckpointsKept; i < all.size(); ++i) fs::remove_all(all[i].second, problem);
    return {};
}

} // namespace

std::int64_t StateFiles::bytes() const
{
    std::int64_t bytes = m_shard ? m_shard->bytes() : 0;
    for (const auto& [name, network] : m_files) {
        const ParameterList& list = network.chunks.front()->parameters();
        for (const auto* each : {&list.all(), &list.buffers()})
            for (const auto& p : *each)
                if (p->weight.defined()) bytes += p->weight.bytes();
    }
    return bytes;
}

Result<bool> StateFiles::write(const std::string& folder, const RunSpec& spec) const
{
    return m_shard ? writeShard(folder, spec) : writeWhole(folder, spec);
}

Result<bool> StateFiles::writeWhole(const std::string& folder, const RunSpec& spec) const
{
    const std::string part = unfinished(folder, m_step);
    std::error_code problem;
    fs::remove_all(part, problem); // of a run that was killed
    const auto written = [&]() -> Status {
        std::vector<std::string> names;
        for (const auto& [name, network] : m_files) {
            FOURWALLS_TRY(saveWeights(part, network.chunks.front()->parameters(), name));
            names.push_back(name);
        }
        FOURWALLS_TRY(writeManifest(part, spec, m_step, m_skipped, 0, names));
        return putInPlace(folder, m_step);
    };
    if (const Status status = written(); !status.ok()) {
        fs::remove_all(part, problem);
        return status.error();
    }
    return true;
}

Result<bool> StateFiles::writeShard(const std::string& folder, const RunSpec& spec) const
{
    const std::string part = unfinished(folder, m_step);
    std::error_code problem;
    if (const Status status = m_shard->write(part); !status.ok()) {
        m_shard->removeFrom(part); // others' files go with the next checkpoint
        return status.error();
    }
    std::vector<std::string> names;
    for (int rank = 0; rank < m_shard->ranks; ++rank)
        for (std::string& name : StateShard::filesOf(rank)) names.push_back(std::move(name));
    for (const std::string& name : names)
        if (!fs::exists(part + "/" + name, problem))
            return false; // another rank is not done; the last one goes on here
    // Where two see all files, one of them makes this one.
    std::FILE* const mine = std::fopen((part + "/" + kCompleting).c_str(), "wxe");
    if (!mine) return false;
    std::fclose(mine);
    FOURWALLS_TRY(writeManifest(part, spec, m_step, m_skipped, m_shard->ranks, names));
    FOURWALLS_TRY(putInPlace(folder, m_step));
    fs::remove(folder + "/" + kFolderName + std::to_string(m_step) + "/" + kCompleting, problem);
    return true;
}

void makeShardFolder(const std::string& folder, std::int64_t step)
{
    std::error_code problem;
    fs::directory_iterator entry(folder, problem);
    std::vector<fs::path> left; // by a run that was killed, or where a rank could not write
    for (; !problem && entry != fs::directory_iterator(); entry.increment(problem))
        if (entry->path().filename().string().starts_with(kUnfinishedName)) left.push_back(entry->path());
    for (const fs::path& each : left) fs::remove_all(each, problem);
    fs::create_directories(unfinished(folder, step), problem); // ranks that write say what is wrong with it
}

StateWriter::~StateWriter()
{
    finish();
}

void StateWriter::start(StateFiles files, const std::string& folder, const RunSpec& spec)
{
    finish();
    m_written = WrittenState{files.step(), files.bytes(), false, std::chrono::steady_clock::now(), {}};
    m_files = std::move(files);
    m_thread = std::thread([this, folder, spec,
                            outOfMemory = Error{ErrorCode::Io, "out of memory", "a checkpoint",
                                                "a smaller model, or without --checkpoint-async"}] {
        try {
            m_written->whole = m_files->write(folder, spec);
        } catch (const std::bad_alloc&) {
            m_written->whole = outOfMemory;
        }
        m_written->end = std::chrono::steady_clock::now();
    });
}

std::optional<WrittenState> StateWriter::finish()
{
    if (!m_thread.joinable()) return std::nullopt;
    m_thread.join();
    m_files.reset();
    return std::exchange(m_written, {});
}

Result<SavedState> newestState(const std::string& folder, const RunSpec& spec, std::vector<std::string>& torn)
{
    std::vector<std::pair<std::int64_t, std::string>> all = checkpointsIn(folder);
    std::error_code problem;
    if (fs::exists(folder + "/" + kManifest, problem)) all = {{0, folder}};
    for (const auto& [step, directory] : all) {
        const auto manifest = wholeManifest(directory);
        if (!manifest) {
            torn.push_back(directory);
            continue;
        }
        const nlohmann::json wanted = identityOf(spec), &found = (*manifest)["training"];
        for (const auto& [name, value] : wanted.items())
            if (!found.contains(name) || found[name] != value)
                return Error{ErrorCode::Unsupported,
                             "the checkpoint is of another training: its " + name + " is " +
                                 (found.contains(name) ? found[name].dump() : "not said") + ", not " + value.dump(),
                             directory, "the options that it was recorded with; the plan may be another one"};
        SavedState saved{directory, (*manifest)["step"].get<std::int64_t>(), {}, 0};
        if (const auto shards = manifest->find("shards"); shards != manifest->end()) saved.shards = shards->get<int>();
        if (const auto skipped = manifest->find("skipped"); skipped != manifest->end() && skipped->is_array())
            for (const nlohmann::json& each : *skipped)
                if (each.is_number_integer()) saved.skipped.push_back(each.get<std::int64_t>());
        return saved;
    }
    return Error{ErrorCode::NotFound,
                 torn.empty() ? "there is no checkpoint"
                              : "no checkpoint is whole (" + std::to_string(torn.size()) + " torn)",
                 folder, "the folder that --checkpoint-every wrote"};
}

void dropStates(const std::string& folder, std::int64_t from)
{
    std::error_code ignored;
    for (const auto& [step, directory] : checkpointsIn(folder))
        if (step >= from) fs::remove_all(directory, ignored);
}

bool hasStates(const std::string& folder)
{
    return !checkpointsIn(folder).empty();
}

} // namespace fourwalls::engine
