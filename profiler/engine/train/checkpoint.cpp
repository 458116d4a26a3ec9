// SPDX-License-Identifier: Apache-2.0
// See checkpoint.h.
#include "profiler/engine/train/checkpoint.h"

#include "model/base/fnv_hash.h"
#include "model/spec/names.h"
#include "profiler/engine/core/host_access.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>

namespace fourwalls::engine {

namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "checkpoint.json";
constexpr const char* kFolderName = "step-";
constexpr const char* kUnfinishedName = ".unfinished-step-";
constexpr std::size_t kCheckpointsKept = 2;

std::vector<Parameter*> buffersOf(const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    std::vector<Parameter*> buffers;
    for (const auto& chunk : chunks)
        for (const auto& buffer : chunk->parameters().buffers()) buffers.push_back(buffer.get());
    return buffers;
}

/// The network as one rank would have it: names, order and shapes of the files.
Result<Network> wholeNetwork(const RankContext& rank, const RunSpec& spec)
{
    RunSpec one = spec;
    one.plan = ParallelPlan{};
    RankContext describing = rank;
    describing.groups = nullptr;
    describing.describeOnly = true;
    return makeNetwork(describing, one);
}

void addUp(RankContext& rank, const Tensor& values)
{
    if (rank.groups) rank.groups->world->allReduce(values);
}

/// What the pieces of all ranks hold, put together in the parameters of `list`, on rank 0.
void gatherPieces(RankContext& rank, const std::vector<ParameterPiece>& pieces, const ParameterList& list)
{
    std::multimap<std::string, const ParameterPiece*> own;
    for (const ParameterPiece& piece : pieces)
        if (piece.counts) own.emplace(piece.parameter->name, &piece);
    for (const auto& p : list.all()) {
        // Everybody adds the elements that are counted with it, and zeros elsewhere.
        const Tensor values = Tensor::make(rank.allocator, p->shape, rank.format.master, MemoryCategory::CommBuffers);
        rank.device.zero(values);
        const auto [begin, end] = own.equal_range(p->name);
        for (auto at = begin; at != end; ++at) {
            const ParameterPiece& piece = *at->second;
            const HostAccess from(piece.weight, HostAccess::Mode::Read), to(values, HostAccess::Mode::ReadWrite);
            const Shard& shard = piece.parameter->shard;
            for (std::int64_t i = 0; i < piece.weight.elements(); ++i)
                to.set(shard.whole ? piece.first + i : shard.fullIndex(piece.first + i), from.get(i));
        }
        addUp(rank, values);
        if (rank.recorder.rank().value == 0) p->weight = values;
    }
}

/// Running statistics are those of the first copy of the network: every stage has its own.
void gatherBuffers(RankContext& rank, const std::vector<std::unique_ptr<TrainingModel>>& chunks,
                   const ParameterList& list)
{
    const auto buffers = buffersOf(chunks);
    for (const auto& statistics : list.buffers()) {
        const Tensor values =
            Tensor::make(rank.allocator, statistics->shape, rank.format.master, MemoryCategory::CommBuffers);
        rank.device.zero(values);
        const auto held = std::find_if(buffers.begin(), buffers.end(),
                                       [&](const Parameter* buffer) { return buffer->name == statistics->name; });
        const bool first = !rank.groups || rank.groups->gradient->index() == 0;
        if (held != buffers.end() && first) rank.device.convert((*held)->weight, values);
        addUp(rank, values);
        statistics->weight = values;
    }
}

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
    for (const auto& [name, sum] : manifest["files"].items()) {
        if (name.find('/') != std::string::npos || !sum.is_string()) return std::nullopt;
        const auto found = sumOf(directory + "/" + name);
        if (!found.ok() || std::to_string(*found) != sum.get<std::string>()) return std::nullopt;
    }
    return manifest;
}

Status writeManifest(const std::string& directory, const RunSpec& spec, std::int64_t step,
                     const std::vector<std::int64_t>& skipped, const std::vector<std::string>& files)
{
    nlohmann::json manifest{{"format", 1}, {"step", step}, {"training", identityOf(spec)}, {"skipped", skipped}};
    for (const std::string& file : files) {
        FOURWALLS_TRY_ASSIGN(const std::uint64_t sum, sumOf(directory + "/" + file));
        manifest["files"][file] = std::to_string(sum);
    }
    std::ofstream out(directory + "/" + kManifest, std::ios::trunc);
    out << manifest.dump(1) << '\n';
    out.close();
    if (!out) return Error{ErrorCode::Io, "cannot be written", directory, "a folder with free space"};
    return {};
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

std::string fileOfState(const std::string& state)
{
    return state + ".safetensors";
}

} // namespace

Status saveCheckpoint(RankContext& rank, const RunSpec& spec, const std::string& directory, const ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    if (!rank.groups) return saveWeights(directory, chunks.front()->parameters());
    FOURWALLS_TRY_ASSIGN(const Network whole, wholeNetwork(rank, spec));
    const ParameterList& list = whole.chunks.front()->parameters();
    gatherPieces(rank, store.pieces(), list);
    gatherBuffers(rank, chunks, list);
    return rank.recorder.rank().value == 0 ? saveWeights(directory, list) : Status();
}

Status loadCheckpoint(RankContext& rank, const std::string& directory, ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    FOURWALLS_TRY(loadPieces(rank, directory, store.pieces(), buffersOf(chunks)));
    store.weightsChanged();
    return {};
}

Status StateFiles::write(const std::string& folder, const RunSpec& spec) const
{
    const std::string number = std::to_string(m_step), final = folder + "/" + kFolderName + number,
                      part = folder + "/" + kUnfinishedName + number;
    std::error_code problem;
    fs::remove_all(part, problem); // of a run that was killed
    const auto written = [&]() -> Status {
        std::vector<std::string> names;
        for (const auto& [name, network] : m_files) {
            FOURWALLS_TRY(saveWeights(part, network.chunks.front()->parameters(), name));
            names.push_back(name);
        }
        FOURWALLS_TRY(writeManifest(part, spec, m_step, m_skipped, names));
        fs::remove_all(final, problem);
        fs::rename(part, final, problem);
        if (!problem) return {};
        return Error{ErrorCode::Io, "cannot be put in place: " + problem.message(), final, "another folder"};
    };
    if (const Status status = written(); !status.ok()) {
        fs::remove_all(part, problem);
        return status;
    }
    const auto all = checkpointsIn(folder);
    for (std::size_t i = kCheckpointsKept; i < all.size(); ++i) fs::remove_all(all[i].second, problem);
    return {};
}

Result<StateFiles> gatherState(RankContext& rank, const RunSpec& spec, std::int64_t step,
                               std::vector<std::int64_t> skipped, const ParameterStore& store,
                               const std::vector<OptimizerState>& states,
                               const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    StateFiles files(step, std::move(skipped));
    FOURWALLS_TRY_ASSIGN(Network weights, wholeNetwork(rank, spec));
    gatherPieces(rank, store.pieces(), weights.chunks.front()->parameters());
    gatherBuffers(rank, chunks, weights.chunks.front()->parameters());
    files.add(kWeightsFile, std::move(weights));
    for (const auto& [name, pieces] : states) {
        FOURWALLS_TRY_ASSIGN(Network state, wholeNetwork(rank, spec));
        gatherPieces(rank, pieces, state.chunks.front()->parameters());
        files.add(fileOfState(name), std::move(state));
    }
    return files;
}

StateWriter::~StateWriter()
{
    finish();
}

void StateWriter::start(StateFiles files, const std::string& folder, const RunSpec& spec)
{
    finish();
    m_files = std::move(files);
    m_thread = std::thread([this, folder, spec,
                            outOfMemory = Error{ErrorCode::Io, "out of memory", "a checkpoint",
                                                "a smaller model, or without --checkpoint-async"}] {
        try {
            m_status = m_files->write(folder, spec);
        } catch (const std::bad_alloc&) {
            m_status = outOfMemory;
        }
    });
}

std::optional<Status> StateWriter::finish()
{
    if (!m_thread.joinable()) return std::nullopt;
    m_thread.join();
    m_files.reset();
    return std::exchange(m_status, {});
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
        SavedState saved{directory, (*manifest)["step"].get<std::int64_t>(), {}};
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

Status loadState(RankContext& rank, const SavedState& saved, ParameterStore& store,
                 const std::vector<OptimizerState>& states, const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    for (const auto& [name, pieces] : states)
        FOURWALLS_TRY(loadPieces(rank, saved.directory, pieces, {}, fileOfState(name)));
    return loadCheckpoint(rank, saved.directory, store, chunks);
}

} // namespace fourwalls::engine
