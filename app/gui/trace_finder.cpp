// SPDX-License-Identifier: GPL-3.0-or-later
// See trace_finder.h.
#include "app/gui/trace_finder.h"

namespace fourwalls::gui {

namespace {

constexpr std::size_t kMostNames = 200;
constexpr std::size_t kMostSlices = 8;
const QByteArray kContentsChannel = QByteArrayLiteral("find.contents");
const QByteArray kNamesChannel = QByteArrayLiteral("find.names");
const QByteArray kSlicesChannel = QByteArrayLiteral("find.slices");
const QByteArray kGoChannel = QByteArrayLiteral("find.go");

} // namespace

void TraceFinder::setSession(views::TraceSession* session)
{
    if (session && session == m_session) return; // of a trace that is gone the contents are still here
    if (m_session) m_session->cancelAll(this);
    m_session = session;
    m_contents.reset();
    m_reading = m_looking = false;
    m_text.clear();
    m_names = {};
    m_slices.clear();
}

void TraceFinder::readContents()
{
    if (!m_session || m_contents || m_reading) return;
    m_reading = true;
    m_session->ask<TraceContents>(
        this, kContentsChannel,
        [](TraceQuery& trace, std::stop_token stop) -> Result<TraceContents> {
            TraceContents contents;
            FOURWALLS_TRY_ASSIGN(contents.names, NameIndex::read(trace, stop));
            FOURWALLS_TRY_ASSIGN(contents.steps, trace.jobSteps());
            return contents;
        },
        [this](const views::Answer<TraceContents>& answer) {
            m_reading = false;
            m_contents = answer.ok() ? answer.value : std::make_shared<const TraceContents>();
            emit contentsRead();
            if (m_looking) askNames();
        },
        views::Urgency::Background);
}

void TraceFinder::ask(const QString& text, Instant from)
{
    m_text = text.trimmed();
    m_from = from;
    m_names = {};
    m_slices.clear();
    m_looking = m_session && !m_text.isEmpty();
    if (m_session) {
        m_session->cancel(this, kNamesChannel);
        m_session->cancel(this, kSlicesChannel);
    }
    if (!m_looking) return;
    if (m_contents)
        askNames();
    else
        readContents();
}

void TraceFinder::askNames()
{
    m_session->ask<NameHits>(
        this, kNamesChannel,
        [contents = m_contents, text = m_text.toStdString()](TraceQuery&, std::stop_token) -> Result<NameHits> {
            return contents->names.find(SearchWords(text), kMostNames);
        },
        [this](const views::Answer<NameHits>& answer) {
            m_looking = false;
            if (answer.ok()) m_names = *answer;
            if (!m_names.best.empty()) askSlices();
            emit found();
        });
}

void TraceFinder::askSlices()
{
    SearchQuery query;
    // Words that stand apart in every name are not found as one text: then it is the best name's slices.
    const NameHit& best = m_names.best.front();
    query.text = best.quality >= MatchQuality::Inside ? SearchWords(m_text.toStdString()).phrase() : best.name.name;
    query.range = {m_from, m_session->info().range.end + Duration{1}};
    query.limit = kMostSlices;
    if (query.range.empty()) return;
    m_session->ask<std::vector<NamedSlice>>(
        this, kSlicesChannel,
        [query](TraceQuery& trace, std::stop_token stop) -> Result<std::vector<NamedSlice>> {
            FOURWALLS_TRY_ASSIGN(const SearchResult result, trace.search(query, stop));
            std::vector<NamedSlice> slices;
            for (const SliceView& slice : result.slices)
                if (const auto op = result.ops.find(slice.op); op != result.ops.end())
                    slices.push_back({slice, op->second});
            return slices;
        },
        [this](const views::Answer<std::vector<NamedSlice>>& answer) {
            if (!answer.ok()) return;
            m_slices = *answer;
            emit found();
        },
        views::Urgency::Background);
}

void TraceFinder::goTo(const QString& name, std::optional<LayerIndex> layer, Instant from)
{
    if (!m_session) return;
    m_session->ask<std::optional<NamedSlice>>(
        this, kGoChannel,
        [name = name.toStdString(), layer, from](TraceQuery& trace, std::stop_token stop) {
            return nextSliceNamed(trace, name, layer, from, stop);
        },
        [this](const views::Answer<std::optional<NamedSlice>>& answer) {
            if (answer.ok() && *answer) emit reached(**answer);
        },
        views::Urgency::Background);
}

} // namespace fourwalls::gui
