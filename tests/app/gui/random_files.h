// SPDX-License-Identifier: GPL-3.0-or-later
// The files of somebody who tries everything: traces that demos carry, copied into a folder of their own, and what is no
// trace, in ways that a person meets. Any of them may change or vanish while it is open.
#pragma once

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QList>
#include <QMap>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>

namespace fourwalls::gui::test {

class RandomFiles {
public:
    /// What happens to a file.
    enum class Change { Gone, Written, OtherTrace, NoTrace, Cut };
    static constexpr int kChanges = 5;

    /// more: further traces, which stay as they are.
    explicit RandomFiles(const QStringList& more)
    {
        for (const char* name : {"gpt", "pipe_1f1b", "zero2", "resnet", "traffic"})
            copyTrace(QString::fromLatin1(name));
        write(QStringLiteral("empty.fourwalls"), {});
        write(QStringLiteral("text.fourwalls"), "this is not a trace\n");
        write(QStringLiteral("cut.fourwalls"), m_contents.isEmpty() ? QByteArray() : m_contents.first().left(40'000));
        m_names << QStringLiteral("missing.fourwalls") << more;
    }

    /// Of all files, the missing one and those that stay as they are among them.
    const QStringList& names() const { return m_names; }
    QString pathOf(const QString& name) const { return QDir::isAbsolutePath(name) ? name : m_folder.filePath(name); }
    /// Whether the file stays as it is.
    static bool isSomebodyElses(const QString& name) { return QDir::isAbsolutePath(name); }
    /// A trace that opens.
    QString goodName() const { return m_contents.keys().value(0); }
    /// Of the good traces.
    QList<QByteArray> goodContents() const { return m_contents.values(); }

    /// other: of the other trace, where it becomes one.
    void change(const QString& name, Change how, const QByteArray& other)
    {
        QFile file(pathOf(name));
        switch (how) {
        case Change::Gone: file.remove(); break;
        case Change::Written:
            file.remove();
            write(name, m_contents.value(name));
            break; // another file of the same name
        case Change::OtherTrace:
            file.remove();
            write(name, other);
            break;
        case Change::NoTrace:
            file.remove();
            write(name, "{}");
            break;
        case Change::Cut:
            if (m_contents.contains(name)) {
                file.remove();
                write(name, m_contents.value(name).left(m_contents.value(name).size() / 2));
            }
        }
    }

private:
    void write(const QString& name, const QByteArray& bytes)
    {
        QFile file(pathOf(name));
        if (file.open(QIODevice::WriteOnly)) file.write(bytes);
        if (!m_names.contains(name)) m_names << name;
    }

    void copyTrace(const QString& name)
    {
        QFile packed(QStringLiteral(FOURWALLS_SOURCE_DIR "/resources/demos/%1.fourwalls.z").arg(name));
        if (!packed.open(QIODevice::ReadOnly)) return;
        const QString file = name + QStringLiteral(".fourwalls");
        m_contents.insert(file, qUncompress(packed.readAll()));
        write(file, m_contents.value(file));
    }

    QTemporaryDir m_folder;
    QStringList m_names;
    QMap<QString, QByteArray> m_contents; ///< of the good traces, by name
};

} // namespace fourwalls::gui::test
