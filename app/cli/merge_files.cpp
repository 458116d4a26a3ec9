// SPDX-License-Identifier: Apache-2.0
// See merge_files.h.
#include "app/cli/merge_files.h"

#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "model/import/import_registry.h"
#include "model/import/merge_traces.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace fourwalls::cli {

namespace {

/// Shares of the progress: profiles, then copying, then finishing.
constexpr double kImported = 0.3, kCopied = 0.6;

Status importProfiles(const std::vector<std::string>& files, const std::string& path, std::stop_token stop,
                      std::function<void(double)> progress, std::function<void(double)> finishProgress)
{
    importers::ImportOptions options;
    options.progress = std::move(progress);
    options.stop = stop;
    options.scratchFolder = std::filesystem::absolute(path).parent_path().string();
    FOURWALLS_TRY_ASSIGN(const auto import, importers::openImport(files, options));
    store::WriterOptions writing;
    writing.finishProgress = std::move(finishProgress);
    writing.finishStop = stop;
    FOURWALLS_TRY_ASSIGN(const auto writer, store::TraceWriter::create(path, import->header(), writing));
    FOURWALLS_TRY(import->write(*writer, options));
    return writer->finish(import->closing());
}

} // namespace

Result<TraceInfo> mergeFiles(const std::vector<std::string>& files, const std::string& path, std::stop_token stop,
                             Progress& progress, importers::MergeKind kind)
{
    std::vector<std::string> traces, profiles;
    for (const std::string& file : files) (store::looksLikeTrace(file) ? traces : profiles).push_back(file);
    const auto tell = [&progress](double from, double to) {
        return [&progress, from, to](double fraction) { progress(from + (to - from) * fraction); };
    };
    if (traces.empty()) {
        FOURWALLS_TRY(importProfiles(profiles, path, stop, tell(0, kCopied), tell(kCopied, 1)));
    } else {
        std::optional<PendingOutput> imported; // never committed: removed at the end
        std::vector<std::unique_ptr<TraceQuery>> opened;
        std::vector<importers::MergeInput> inputs;
        const auto add = [&](const std::string& file, const std::string& label) -> Status {
            FOURWALLS_TRY_ASSIGN(auto trace, openInput(file));
            opened.push_back(std::move(trace));
            inputs.push_back({label, opened.back().get()});
            return {};
        };
        for (const std::string& trace : traces) FOURWALLS_TRY(add(trace, trace));
        if (!profiles.empty()) {
            FOURWALLS_TRY_ASSIGN(PendingOutput pending, PendingOutput::create(path + ".profiles", OutputKind::Other));
            imported.emplace(std::move(pending));
            FOURWALLS_TRY(importProfiles(profiles, imported->temporaryPath(), stop, tell(0, kImported), {}));
            FOURWALLS_TRY(add(imported->temporaryPath(), profiles.front()));
        }
        FOURWALLS_TRY_ASSIGN(const auto merge, importers::TraceMerge::create(std::move(inputs), stop, kind));
        store::WriterOptions options;
        options.finishProgress = tell(kCopied, 1);
        options.finishStop = stop;
        FOURWALLS_TRY_ASSIGN(const auto writer, store::TraceWriter::create(path, merge->header(), options));
        FOURWALLS_TRY(merge->write(*writer, tell(kImported, kCopied), stop));
        FOURWALLS_TRY(writer->finish(merge->closing()));
    }
    FOURWALLS_TRY_ASSIGN(const auto trace, store::openTrace(path));
    return trace->info();
}

} // namespace fourwalls::cli
