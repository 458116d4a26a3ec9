// SPDX-License-Identifier: Apache-2.0
// `merge`: the files of single ranks of one run into one trace.
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/trace_clocks_report.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/import/merge_traces.h"
#include "model/import/trace_import.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"

namespace fourwalls::cli {

namespace {

class MergeVerb : public Verb {
public:
    const char* name() const override { return "merge"; }
    const char* summary() const override { return "make one trace of the files of single ranks of one run"; }
    const char* examples() const override
    {
        return "  fourwalls-cli merge rank*.fourwalls -o run.fourwalls\n"
               "  fourwalls-cli merge run.fourwalls rank0_memory.pickle -o both.fourwalls\n"
               "Inputs are traces, or profiles that `import` reads. Clocks are aligned on the collectives that ranks have in\n"
               "common; `info` shows each rank's offset and residual.";
    }
    void declare(CLI::App& app) override
    {
        app.add_option("FILES", m_files, "traces and profiles of one run")->required();
        app.add_option("-o,--output", m_output, "the trace to write")->required();
    }

    int run(Console& console) override
    {
        const StopSignals signals;
        Progress progress("merging");
        auto output = PendingOutput::create(m_output);
        if (!output) return console.fail(output.error());
        const auto merged = write(output->temporaryPath(), signals.token(), progress);
        if (!merged) return console.fail(merged.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        return report(console, *merged);
    }

private:
    /// Shares of the progress: profiles, then copying, then finishing.
    static constexpr double kImported = 0.3, kCopied = 0.6;

    Result<TraceInfo> write(const std::string& path, std::stop_token stop, Progress& progress) const
    {
        std::vector<std::string> traces, profiles;
        for (const std::string& file : m_files) (store::looksLikeTrace(file) ? traces : profiles).push_back(file);
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
                FOURWALLS_TRY_ASSIGN(PendingOutput pending, PendingOutput::create(path + ".profiles"));
                imported.emplace(std::move(pending));
                FOURWALLS_TRY(importProfiles(profiles, imported->temporaryPath(), stop, tell(0, kImported), {}));
                FOURWALLS_TRY(add(imported->temporaryPath(), profiles.front()));
            }
            FOURWALLS_TRY_ASSIGN(const auto merge, importers::TraceMerge::create(std::move(inputs), stop));
            store::WriterOptions options;
            options.finishProgress = tell(kCopied, 1);
            FOURWALLS_TRY_ASSIGN(const auto writer, store::TraceWriter::create(path, merge->header(), options));
            FOURWALLS_TRY(merge->write(*writer, tell(kImported, kCopied), stop));
            FOURWALLS_TRY(writer->finish(merge->closing()));
        }
        FOURWALLS_TRY_ASSIGN(const auto trace, store::openTrace(path));
        return trace->info();
    }

    static Status importProfiles(const std::vector<std::string>& files, const std::string& path, std::stop_token stop,
                                 std::function<void(double)> progress, std::function<void(double)> finishProgress)
    {
        importers::ImportOptions options;
        options.progress = std::move(progress);
        options.stop = stop;
        FOURWALLS_TRY_ASSIGN(const auto import, importers::TraceImport::open(files, options));
        store::WriterOptions writing;
        writing.finishProgress = std::move(finishProgress);
        FOURWALLS_TRY_ASSIGN(const auto writer, store::TraceWriter::create(path, import->header(), writing));
        FOURWALLS_TRY(import->write(*writer, options));
        return writer->finish(import->closing());
    }

    int report(Console& console, const TraceInfo& info) const
    {
        if (console.json()) {
            nlohmann::json object{{"file", m_output}, {"inputs", m_files.size()}, {"slices", info.counts.slices}, {"collectives", info.counts.collectives}, {"steps", info.stepCount}};
            object["ranks"] = nlohmann::json::array();
            for (const RankInfo& rank : info.header.ranks) object["ranks"].push_back(rank.rank.value);
            object["clocks"] = clocksJson(info);
            return console.answerJson(std::move(object));
        }
        std::string text = m_output + ": " + formatCount(static_cast<std::int64_t>(info.header.ranks.size())) + " ranks, " +
                           formatCount(info.counts.slices) + " slices from " + formatCount(static_cast<std::int64_t>(m_files.size())) + " files";
        for (const std::string& line : clocksText(info)) text += "\n  clock of " + line;
        return console.answerText(text);
    }

    std::vector<std::string> m_files;
    std::string m_output;
};

} // namespace

std::unique_ptr<Verb> makeMergeVerb() { return std::make_unique<MergeVerb>(); }

} // namespace fourwalls::cli
