// SPDX-License-Identifier: Apache-2.0
// `report`: a trace as one page of HTML.
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/export/html_report.h"

#include <fstream>

namespace fourwalls::cli {

namespace {

class ReportVerb : public Verb {
public:
    const char* name() const override { return "report"; }
    const char* summary() const override { return "one self-contained page about a trace, for a ticket or a lesson"; }
    const char* examples() const override
    {
        return "  fourwalls-cli report run.fourwalls -o run.html\n"
               "The page has no scripts, needs nothing else, and names no hosts, files or folders.";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a trace").required(),
                Argument("-o,--output", &m_output, "the page to write").required()};
    }

    int run(Console& console) override
    {
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        auto output = PendingOutput::create(m_output, OutputKind::Other, {m_file});
        if (!output) return console.fail(output.error());
        const Status written = write(**trace, output->temporaryPath());
        if (!written.ok()) return console.fail(written.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        return console.json() ? console.answerJson(nlohmann::json{{"file", m_output}}) : console.answerText(m_output);
    }

private:
    Status write(TraceQuery& trace, const std::string& path) const
    {
        const StopSignals signals; // so that an interrupted report leaves nothing behind
        std::ofstream out(path, std::ios::binary);
        if (!out) return Error{ErrorCode::Io, "cannot be written", m_output, "check permissions"};
        return writeHtmlReport(trace, out, signals.token());
    }

    std::string m_file, m_output;
};

} // namespace

std::unique_ptr<Verb> makeReportVerb()
{
    return std::make_unique<ReportVerb>();
}

} // namespace fourwalls::cli
