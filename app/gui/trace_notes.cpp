// SPDX-License-Identifier: GPL-3.0-or-later
// See trace_notes.h. The file may be somebody else's: sizes and numbers in it are checked.
#include "app/gui/trace_notes.h"

#include "app/gui/image_export.h"

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

#include <memory>

namespace fourwalls::gui {

namespace {

constexpr qint64 kLargestFile = 4 << 20;
constexpr qsizetype kMostNotes = 2000;

/// 64-bit times do not survive a JSON number: they are texts.
QString timeText(Instant at) { return QString::number(at.ns); }

std::optional<Instant> timeFrom(const QJsonValue& value)
{
    bool good = false;
    const qlonglong ns = value.toString().toLongLong(&good);
    if (!good || ns > kLargestTimeNs || ns < -kLargestTimeNs) return std::nullopt;
    return Instant{ns};
}

struct Loaded {
    std::vector<TraceNote> notes;
    std::optional<Error> error;
};

Loaded read(const QStringList& places)
{
    for (const QString& path : places) {
        QFile file(path);
        if (!file.exists()) continue;
        if (!file.open(QIODevice::ReadOnly) || file.size() > kLargestFile)
            return {{}, Error{ErrorCode::Io, "the notes of this trace cannot be read", path.toStdString(), {}}};
        Result<std::vector<TraceNote>> notes = notesFromJson(file.readAll(), path);
        if (!notes.ok()) return {{}, notes.error()};
        return {std::move(*notes), std::nullopt};
    }
    return {};
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
        if (note.step) object.insert(QStringLiteral("step"), note.step->value);
        list.append(object);
    }
    return QJsonDocument(QJsonObject{{QStringLiteral("format"), 1}, {QStringLiteral("notes"), list}}).toJson();
}

Result<std::vector<TraceNote>> notesFromJson(const QByteArray& json, const QString& where)
{
    const QJsonDocument document = QJsonDocument::fromJson(json);
    if (!document.isObject() || document.object().value(QStringLiteral("format")).toInt() != 1)
        return Error{ErrorCode::Format, "these are no notes that this version knows", where.toStdString(), "move the file away"};
    std::vector<TraceNote> notes;
    for (const QJsonValue& value : document.object().value(QStringLiteral("notes")).toArray()) {
        const QJsonObject object = value.toObject();
        const auto from = timeFrom(object.value(QStringLiteral("from_ns"))), to = timeFrom(object.value(QStringLiteral("to_ns")));
        if (!from || !to || *to <= *from || notes.size() == static_cast<std::size_t>(kMostNotes)) continue;
        TraceNote note;
        note.text = object.value(QStringLiteral("text")).toString();
        note.view = object.value(QStringLiteral("view")).toString();
        note.range = {*from, *to};
        note.rank = RankId{object.value(QStringLiteral("rank")).toInt()};
        if (object.contains(QStringLiteral("step"))) note.step = StepIndex{object.value(QStringLiteral("step")).toInt()};
        notes.push_back(std::move(note));
    }
    return notes;
}

TraceNotes::TraceNotes(const QString& tracePath, QObject* parent) : QObject(parent)
{
    m_beside = tracePath + QStringLiteral(".notes.json");
    const QByteArray key = QCryptographicHash::hash(tracePath.toUtf8(), QCryptographicHash::Sha256).toHex().left(24);
    m_ownFolder = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/fourwalls/notes/") +
                  QString::fromLatin1(key) + QStringLiteral(".json");
    load();
}

void TraceNotes::load()
{
    QThreadPool::globalInstance()->start([guard = QPointer<TraceNotes>(this), places = QStringList{m_beside, m_ownFolder}] {
        const auto loaded = std::make_shared<Loaded>(read(places));
        QMetaObject::invokeMethod(
            qApp,
            [guard, loaded] {
                if (!guard) return;
                // What was added before the file was read stays behind what was in it.
                loaded->notes.insert(loaded->notes.end(), guard->m_notes.begin(), guard->m_notes.end());
                guard->m_notes = std::move(loaded->notes);
                guard->m_loaded = true;
                if (loaded->error) emit guard->failed(*loaded->error);
                if (!guard->m_notes.empty()) emit guard->changed();
            },
            Qt::QueuedConnection);
    });
}

void TraceNotes::save()
{
    emit changed();
    QThreadPool::globalInstance()->start(
        [guard = QPointer<TraceNotes>(this), json = notesToJson(m_notes), beside = m_beside, own = m_ownFolder] {
            Status status = writeWhole(beside, json);
            if (!status.ok()) {
                QDir().mkpath(QFileInfo(own).path());
                status = writeWhole(own, json);
            }
            if (status.ok()) return;
            QMetaObject::invokeMethod(
                qApp, [guard, status] { if (guard) emit guard->failed(status.error()); }, Qt::QueuedConnection);
        });
}

void TraceNotes::add(const TraceNote& note)
{
    m_notes.push_back(note);
    save();
}

void TraceNotes::setText(std::size_t index, const QString& text)
{
    if (index >= m_notes.size() || m_notes[index].text == text) return;
    m_notes[index].text = text;
    save();
}

void TraceNotes::remove(std::size_t index)
{
    if (index >= m_notes.size()) return;
    m_notes.erase(m_notes.begin() + static_cast<std::ptrdiff_t>(index));
    save();
}

} // namespace fourwalls::gui
