// SPDX-License-Identifier: Apache-2.0
// `merge`: the files of single ranks of one run into one trace.
#include "app/cli/merge_files.h"
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/trace_clocks_report.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"

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
               "Inputs are traces, or profiles that `import` reads. Clocks are aligned on the collectives that ranks "
               "have in\n"
               "common; `info` shows each rank's offset and residual.";
    }
    Arguments arguments() override
    {
        return {Argument("FILES", &m_files, "traces and profiles of one run").required(),
                Argument("-o,--output", &m_output, "the trace to write").required()};
    }

    int run(Console& console) override
    {
        const StopSignals signals;
        Progress progress("merging");
        auto output = PendingOutput::create(m_output, OutputKind::Trace, m_files);
        if (!output) return console.fail(output.error());
        const auto merged = mergeFiles(m_files, output->temporaryPath(), signals.token(), progress);
        if (!merged) return console.fail(merged.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        return report(console, *merged);
    }

private:
    int report(Console& console, const TraceInfo& info) const
    {
        if (console.json()) {
            nlohmann::json object{{"file", m_output},
                                  {"inputs", m_files.size()},
                                  {"slices", info.counts.slices},
                                  {"collectives", info.counts.collectives},
                                  {"steps", info.stepCount}};
            object["ranks"] = nlohmann::json::array();
            for (const RankInfo& rank : info.header.ranks) object["ranks"].push_back(rank.rank.value);
            object["clocks"] = clocksJson(info);
            return console.answerJson(std::move(object));
        }
        std::string text = m_output + ": " + formatCount(static_cast<std::int64_t>(info.header.ranks.size())) +
                           " ranks, " + formatCount(info.counts.slices) + " slices from " +
                           formatCount(static_cast<std::int64_t>(m_files.size())) + " files";
        for (const std::string& line : clocksText(info)) text += "\n  clock of " + line;
        return console.answerText(text);
    }

    std::vector<std::string> m_files;
    std::string m_output;
};

} // namespace

std::unique_ptr<Verb> makeMergeVerb()
{
    return std::make_unique<MergeVerb>();
}

} // namespace fourwalls::cli
