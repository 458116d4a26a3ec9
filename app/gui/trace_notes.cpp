// SPDX-License-Identifier: GPL-3.0-or-later
// See trace_notes.h. The file may be somebody else's: sizes and numbers in it are checked.
#include "app/gui/trace_notes.h"

#include "app/gui/image_export.h"
#include "views/session/gui_call.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPointer>
#include <QStandardPaths>
#include <QThreadPool>

#include <algorithm>

namespace fourwalls::gui {

namespace {

constexpr qint64 kLargestFile = 4 << 20;
constexpr qsizetype kMostNotes = 2000;

/// 64-bit times do not survive a JSON number: they are texts.
QString timeText(Instant at)
{
    return QString::number(at.ns);
}

std::optional<Instant> timeFrom(const QJsonValue& value)
{
    bool good = false;
    const qlonglong ns = value.toString().toLongLong(&good);
    if (!good || ns > kLargestTimeNs || ns < -kLargestTimeNs) return std::nullopt;
    return Instant{ns};
}

const TraceNote* markAmong(const std::vector<TraceNote>& notes, int number)
{
    const auto found = std::ranges::find(notes, std::optional(number), &TraceNote::number);
    return found == notes.end() ? nullptr : &*found;
}

/// One file. Absent: there is none.
std::optional<Result<std::vector<TraceNote>>> readNotes(const QString& path)
{
    QFile file(path);
    if (!file.exists()) return std::nullopt;
    if (!file.open(QIODevice::ReadOnly) || file.size() > kLargestFile)
        return Error{ErrorCode::Io, "the notes of this trace cannot be read", path.toStdString(), "move the file away"};
    return notesFromJson(file.readAll(), path);
}

/// One thread, so that files are read and written in the order in which it was asked for, also by notes that were
/// opened, closed and opened again.
QThreadPool& noteThread()
{
    static QPointer<QThreadPool> pool;
    if (!pool) {
        pool = new QThreadPool(qApp);
        pool->setMaxThreadCount(1);
    }
    return *pool;
}

} // namespace

QByteArray notesToJson(const std::vector<TraceNote>& notes)
{
    QJsonArray list;
    for (const TraceNote& note : notes) {
        QJsonObject object{{QStringLiteral("text"), note.text},
                           {QStringLiteral("view"), note.view},
                           {QStringLiteral("from_ns"), timeText(note.range.begin)},
                           {QStringLiteral("to_ns"), timeText(note.range.end)},
                           {QStringLiteral("rank"), note.rank.value}};
        if (note.mark) {
            object.insert(QStringLiteral("mark_from_ns"), timeText(note.mark->begin));
            object.insert(QStringLiteral("mark_to_ns"), timeText(note.mark->end));
        }
        if (note.step) object.insert(QStringLiteral("step"), note.step->value);
        if (note.number) object.insert(QStringLiteral("number"), *note.number);
        list.append(object);
    }
    return QJsonDocument(QJsonObject{{QStringLiteral("format"), 1}, {QStringLiteral("notes"), list}}).toJson();
}

Result<std::vector<TraceNote>> notesFromJson(const QByteArray& json, const QString& where)
{
    const QJsonDocument document = QJsonDocument::fromJson(json);
    if (!document.isObject() || document.object().value(QStringLiteral("format")).toInt() != 1)
        return Error{ErrorCode::Format, "these are no notes that this version knows", where.toStdString(),
                     "move the file away"};
    std::vector<TraceNote> notes;
    for (const QJsonValue& value : document.object().value(QStringLiteral("notes")).toArray()) {
        const QJsonObject object = value.toObject();
        const auto from = timeFrom(object.value(QStringLiteral("from_ns"))),
                   to = timeFrom(object.value(QStringLiteral("to_ns")));
        if (!from || !to || *to <= *from || notes.size() == static_cast<std::size_t>(kMostNotes)) continue;
        TraceNote note;
        note.text = object.value(QStringLiteral("text")).toString();
        note.view = object.value(QStringLiteral("view")).toString();
        note.range = {*from, *to};
        const auto markFrom = timeFrom(object.value(QStringLiteral("mark_from_ns"))),
                   markTo = timeFrom(object.value(QStringLiteral("mark_to_ns")));
        if (markFrom && markTo && *markTo >= *markFrom) note.mark = TimeRange{*markFrom, *markTo};
        note.rank = RankId{object.value(QStringLiteral("rank")).toInt()};
        if (object.contains(QStringLiteral("step")))
            note.step = StepIndex{object.value(QStringLiteral("step")).toInt()};
        const int number = object.value(QStringLiteral("number")).toInt(-1);
        if (number >= 0 && number < kMarkCount && !markAmong(notes, number)) note.number = number;
        notes.push_back(std::move(note));
    }
    return notes;
}

struct TraceNotes::Loaded {
    std::vector<TraceNote> notes;
    std::optional<Error> error;
    bool keepBeside = false, keepOwn = false;
};

TraceNotes::TraceNotes(const QString& tracePath, QObject* parent) : QObject(parent)
{
    m_beside = tracePath + QStringLiteral(".notes.json");
    const QByteArray key = QCryptographicHash::hash(tracePath.toUtf8(), QCryptographicHash::Sha256).toHex().left(24);
    m_own = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
            QStringLiteral("/fourwalls/notes/") + QString::fromLatin1(key) + QStringLiteral(".json");
    load();
}

void TraceNotes::load()
{
    const auto load = [beside = m_beside, own = m_own] {
        Loaded loaded;
        // The own file last: what is in it was written because the other one could not be.
        for (const QString& path : {beside, own}) {
            auto notes = readNotes(path);
            if (!notes) continue;
            if (notes->ok()) {
                loaded.notes = std::move(**notes);
            } else {
                loaded.error = notes->error();
                (path == own ? loaded.keepOwn : loaded.keepBeside) = true;
            }
        }
        return loaded;
    };
    views::runLater(
        this, load, [this](const Loaded& loaded) { onLoaded(loaded); }, noteThread());
}

void TraceNotes::onLoaded(Loaded loaded)
{
    // What was added before the file was read stays behind what was in it, or in the place of a mark there.
    std::erase_if(loaded.notes, [&](const TraceNote& note) { return note.number && markAmong(m_notes, *note.number); });
    loaded.notes.insert(loaded.notes.end(), m_notes.begin(), m_notes.end());
    m_notes = std::move(loaded.notes);
    m_keepBeside = loaded.keepBeside;
    m_keepOwn = loaded.keepOwn;
    m_loaded = true;
    if (m_unsaved) save();
    if (loaded.error) emit failed(*loaded.error);
    if (!m_notes.empty()) emit changed();
}

void TraceNotes::changeAndSave()
{
    m_unsaved = true;
    if (m_loaded) save();
    emit changed();
}

void TraceNotes::save()
{
    m_unsaved = false;
    ++m_writing;
    const auto write = [json = notesToJson(m_notes), beside = m_beside, own = m_own, keepBeside = m_keepBeside,
                        keepOwn = m_keepOwn] {
        Status status = Error{ErrorCode::Io, "the notes cannot be written: what is there could not be read",
                              own.toStdString(), "move the file away, then open the trace again"};
        if (!keepBeside) {
            status = writeWhole(beside, json);
            if (status.ok() && !keepOwn) QFile::remove(own); // older now
        }
        if (!status.ok() && !keepOwn) {
            QDir().mkpath(QFileInfo(own).path());
            status = writeWhole(own, json);
        }
        return status;
    };
    const auto written = [this](const Status& status) {
        --m_writing;
        if (!status.ok()) emit failed(status.error());
    };
    views::runLater(this, write, written, noteThread());
}

void TraceNotes::add(const TraceNote& note)
{
    m_notes.push_back(note);
    changeAndSave();
}

void TraceNotes::setMark(const TraceNote& note)
{
    if (!note.number) return add(note);
    const auto before = std::ranges::find(m_notes, note.number, &TraceNote::number);
    if (before == m_notes.end()) return add(note);
    *before = note;
    changeAndSave();
}

const TraceNote* TraceNotes::mark(int number) const
{
    return markAmong(m_notes, number);
}

void TraceNotes::setText(std::size_t index, const QString& text)
{
    if (index >= m_notes.size() || m_notes[index].text == text) return;
    m_notes[index].text = text;
    changeAndSave();
}

void TraceNotes::remove(std::size_t index)
{
    if (index >= m_notes.size()) return;
    m_notes.erase(m_notes.begin() + static_cast<std::ptrdiff_t>(index));
    changeAndSave();
}

} // namespace fourwalls::gui
