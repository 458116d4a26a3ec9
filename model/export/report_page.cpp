// SPDX-License-Identifier: Apache-2.0
// See report_page.h. Light or dark is the reader's setting; printed pages are light.
#include "model/export/report_page.h"

#include "model/base/format.h"
#include "model/export/export_text.h"
#include "model/trace/figures.h"

#include <algorithm>
#include <array>

namespace fourwalls {

namespace {

constexpr std::string_view kStyle = R"css(
:root{--page:#f5f6f9;--card:#fff;--line:#e1e4ea;--text:#1b2130;--soft:#5f6980;--wall:#b23a28;--on:#fff;--curve:#2b6adf;
--m0:#486596;--m1:#8fb9e8;--m2:#c0ab5c;--m3:#6cc0a1;--m4:#a3a9b8;--m5:#e9a183;--m6:#cf9fb4;--m7:#cdd2da;
--achieved:#3f7d4e;--recompute:#a594b8;--bubble:#8d97a8;--comm:#dd6327;--copy:#8d6e63;--idle:#b4bac6;--memory:#4a78c8;--rest:#2a9d8f}
@media (prefers-color-scheme:dark){:root{--page:#15181d;--card:#1c2027;--line:#2f3641;--text:#e8ebf1;--soft:#9aa4b6;--wall:#e57a62;--on:#fff;--curve:#6c9ff8;
--m0:#3f5a8c;--m1:#74a2d6;--m2:#ab9648;--m3:#53a886;--m4:#8b93a5;--m5:#dc8f6e;--m6:#b98aa0;--m7:#5c6575;
--achieved:#4c9560;--recompute:#9a88b0;--bubble:#6b7585;--idle:#4a5361;--copy:#94766b}}
@media print{:root{--page:#fff}section{break-inside:avoid}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,"Segoe UI","Noto Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1000px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}h2{font-size:18px;margin:0 0 6px}
p{margin:0 0 10px;max-width:75ch}.soft,figcaption{color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px 18px;margin:14px 0}
.labels{margin:10px 0 0;padding:0;list-style:none}
.labels li{display:inline-block;margin:0 6px 6px 0;border:1px solid var(--line);border-radius:12px;padding:1px 10px;color:var(--soft);background:var(--card)}
.figures div{display:inline-block;width:220px;margin:0 12px 10px 0;vertical-align:top}.figures div span{display:block;color:var(--soft);font-size:13px}.figures div b{font-size:20px;font-weight:600}
.wide{overflow-x:auto;margin:10px 0 14px}table{border-collapse:collapse;width:100%;font-size:14px}
th,td{padding:4px 10px 4px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{color:var(--soft);font-weight:500}.numbers td:not(:first-child),.numbers th:not(:first-child){text-align:right;white-space:nowrap}
figure{margin:10px 0}img,svg{display:block;max-width:100%;height:auto}svg{width:100%}code{overflow-wrap:anywhere}svg text{font-size:13px;fill:var(--text)}svg .tick{fill:var(--soft)}svg .on{fill:var(--on)}
.grid{stroke:var(--line)}.wall{stroke:var(--wall);stroke-width:3}.mark{stroke:var(--text);stroke-dasharray:4 4}
.curve{fill:none;stroke:var(--curve);stroke-width:2}.dot{fill:var(--curve)}
.key{margin:6px 0;font-size:13px;color:var(--soft)}.key span{display:inline-block;margin-right:16px}.key svg{display:inline-block;width:11px;height:11px;margin-right:5px;vertical-align:-1px}
.m0{fill:var(--m0)}.m1{fill:var(--m1)}.m2{fill:var(--m2)}.m3{fill:var(--m3)}.m4{fill:var(--m4)}.m5{fill:var(--m5)}.m6{fill:var(--m6)}.m7{fill:var(--m7)}
)css";

/// The variable of kStyle that colours a part of the waterfall.
constexpr std::array<std::string_view, kWaterfallParts> kPartColours{"achieved", "recompute", "memory", "rest", "m7",
                                                                     "achieved", "bubble",    "comm",   "copy", "idle"};

/// The class of each part has its key for a name.
std::string partStyles()
{
    std::string rules;
    for (std::size_t i = 0; i < kWaterfallParts; ++i)
        rules += "." + std::string(waterfallTable()[i].key) + "{fill:var(--" + std::string(kPartColours[i]) + ")}";
    return rules;
}

/// Source: RFC 4648, section 4.
std::string base64(std::string_view bytes)
{
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t given = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 3; ++k)
            bits = bits << 8 | (k < given ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k) text += k <= given ? kLetters[bits >> (18 - 6 * k) & 63U] : '=';
    }
    return text;
}

} // namespace

std::string spacedWords(std::string_view name)
{
    std::string text(name);
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

std::string layersText(const std::set<std::int32_t>& layers)
{
    if (layers.empty()) return kReportDash;
    return layers.size() == 1 ? "layer " + std::to_string(*layers.begin()) : std::to_string(layers.size()) + " layers";
}

std::string timeTick(double seconds)
{
    return seconds > 0 ? formatTime(Duration::fromSeconds(seconds), 3) : "0";
}

void ReportPage::section(std::string_view heading, std::string_view explanation)
{
    if (!m_body.empty()) m_body += "</section>\n";
    m_body += "<section><h2>" + htmlText(heading) + "</h2>";
    if (!explanation.empty()) m_body += "<p class=\"soft\">" + htmlText(explanation) + "</p>";
}

void ReportPage::paragraph(std::string_view text)
{
    m_body += "<p>" + htmlText(text) + "</p>";
}

void ReportPage::figure(const std::string& svg, std::string_view caption)
{
    m_body += "<figure>" + svg;
    if (!caption.empty()) m_body += "<figcaption>" + htmlText(caption) + "</figcaption>";
    m_body += "</figure>";
}

void ReportPage::picture(std::string_view png, std::string_view meaning)
{
    m_body +=
        "<figure><img alt=\"" + htmlText(meaning) + "\" src=\"data:image/png;base64," + base64(png) + "\"/></figure>";
}

void ReportPage::code(std::string_view text)
{
    m_body += "<p><code>" + htmlText(text) + "</code></p>";
}

void ReportPage::key(const std::vector<std::pair<std::string, std::string>>& entries)
{
    m_body += "<div class=\"key\">";
    for (const auto& [style, word] : entries)
        m_body +=
            "<span><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" rx=\"2\" class=\"" +
            style + "\"/></svg>" + htmlText(word) + "</span>";
    m_body += "</div>";
}

void ReportPage::table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows,
                       bool numbers)
{
    m_body += numbers ? "<div class=\"wide\"><table class=\"numbers\"><tr>" : "<div class=\"wide\"><table><tr>";
    for (const std::string& heading : headings) m_body += "<th>" + htmlText(heading) + "</th>";
    m_body += "</tr>";
    for (const std::vector<std::string>& row : rows) {
        m_body += "<tr>";
        for (const std::string& cell : row) m_body += "<td>" + htmlText(cell) + "</td>";
        m_body += "</tr>";
    }
    m_body += "</table></div>";
}

void ReportPage::more(std::size_t all, std::size_t shown, std::string_view what)
{
    if (all > shown)
        paragraph("and " + formatCount(static_cast<std::int64_t>(all - shown)) + " more " + std::string(what) + ".");
}

void ReportPage::figures(const std::vector<ReportFigure>& entries)
{
    m_body += "<div class=\"figures\">";
    for (const ReportFigure& entry : entries)
        m_body += "<div title=\"" + htmlText(entry.meaning) + "\"><span>" + htmlText(entry.words) + "</span><b>" +
                  htmlText(entry.value) + "</b></div>";
    m_body += "</div>";
}

std::string ReportPage::html(std::string_view title, std::string_view subtitle,
                             const std::vector<std::string>& labels) const
{
    std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
                       "content=\"width=device-width\"/>"
                       "<meta name=\"color-scheme\" content=\"light dark\"/><title>";
    page += htmlText(title) + " \xe2\x80\x93 Fourwalls</title><style>" + std::string(kStyle) + partStyles() +
            "</style></head>\n<body><main><h1>" + htmlText(title) + "</h1><p class=\"soft\">" + htmlText(subtitle) +
            "</p><ul class=\"labels\">";
    for (const std::string& label : labels) page += "<li>" + htmlText(label) + "</li>";
    page += "</ul>\n" + m_body;
    if (!m_body.empty()) page += "</section>\n";
    return page +
           "<p class=\"soft\">Made by Fourwalls " FOURWALLS_VERSION
           ". Names of hosts, files and folders are left out. Unknown figures are a dash.</p></main></body></html>\n";
}

} // namespace fourwalls
