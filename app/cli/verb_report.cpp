// SPDX-License-Identifier: Apache-2.0
// `report`: a trace as one page of HTML.
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/export/html_report.h"

#include <algorithm>
#include <fstream>
#include <iostream>

namespace fourwalls::cli {

namespace {

class ReportVerb : public Verb {
public:
    const char* name() const override { return "report"; }
    const char* summary() const override { return "one self-contained page about a trace, for a ticket or a lesson"; }
    const char* examples() const override
    {
        return "  fourwalls-cli report run.fourwalls -o run.html\n"
               "  fourwalls-cli report run.fourwalls --picture seen.png --caption \"the gap before the optimizer\" -o "
               "run.html\n"
               "The page has no scripts, needs nothing else, and names no hosts, files or folders but those that a "
               "picture shows.";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a trace").required(),
                Argument("-o,--output", &m_output, "the page to write").required(),
                Argument("--picture", &m_picture, "a PNG that the page begins with; -: from standard input"),
                Argument("--caption", &m_view.caption, "what the picture shows"),
                Argument("--command", &m_view.command, "what opens it again, for the line below the picture")};
    }

    int run(Console& console) override
    {
        if (m_picture.empty() && !(m_view.caption.empty() && m_view.command.empty()))
            return console.wrongUsage(
                wrongArgument(m_view.caption.empty() ? "--command" : "--caption", "has no picture", "add --picture"));
        if (const Status read = readPicture(); !read.ok()) return console.fail(read.error());
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        auto output = PendingOutput::create(m_output, OutputKind::Other, {m_file, m_picture});
        if (!output) return console.fail(output.error());
        const Status written = write(**trace, output->temporaryPath());
        if (!written.ok()) return console.fail(written.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        return console.json() ? console.answerJson(nlohmann::json{{"file", m_output}}) : console.answerText(m_output);
    }

private:
    Status readPicture()
    {
        if (m_picture.empty()) return {};
        constexpr std::size_t kMost = 64 << 20;
        std::ifstream file;
        if (m_picture != "-") file.open(m_picture, std::ios::binary);
        std::istream& from = m_picture == "-" ? std::cin : file;
        m_view.png.resize(kMost + 1);
        from.read(m_view.png.data(), static_cast<std::streamsize>(m_view.png.size()));
        m_view.png.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, from.gcount())));
        if (m_view.png.empty())
            return Error{ErrorCode::Io, "the picture cannot be read", m_picture, "check its name and permissions"};
        if (m_view.png.size() > kMost)
            return Error{ErrorCode::InvalidArgument, "the picture is larger than 64 MB", m_picture,
                         "take a smaller one"};
        return {};
    }

    Status write(TraceQuery& trace, const std::string& path) const
    {
        const StopSignals signals; // so that an interrupted report leaves nothing behind
        std::ofstream out(path, std::ios::binary);
        if (!out) return Error{ErrorCode::Io, "cannot be written", m_output, "check permissions"};
        return writeHtmlReport(trace, out, signals.token(), m_view);
    }

    std::string m_file, m_output, m_picture;
    ReportView m_view;
};

} // namespace

std::unique_ptr<Verb> makeReportVerb()
{
    return std::make_unique<ReportVerb>();
}

} // namespace fourwalls::cli
