// SPDX-License-Identifier: GPL-3.0-or-later
// What the application remembers between runs: recent files, last session, look, shortcuts.
#pragma once

#include <QByteArray>
#include <QKeySequence>
#include <QString>
#include <QStringList>

#include <memory>
#include <optional>

class QSettings;

namespace fourwalls::gui {

/// Lives in the user's configuration folder. A Settings made with `forgetful` starts with the defaults and keeps
/// nothing, for renders, benchmarks and tests.
class Settings {
public:
    enum class Kind { Persistent, Forgetful };
    explicit Settings(Kind kind);
    ~Settings();

    QStringList recentFiles() const;
    /// Puts `path` first; at most 12 are kept.
    void addRecentFile(const QString& path);
    void clearRecentFiles();

    /// Whether imported traces may be kept beside the files that they are made of; only with the user's consent.
    bool importsBesideSource() const;
    void setImportsBesideSource(bool beside);

    QStringList sessionFiles() const;
    QString sessionView() const;
    void setSession(const QStringList& files, const QString& view);
    bool restoresSession() const;
    void setRestoresSession(bool restores);

    QByteArray geometry() const;
    void setGeometry(const QByteArray& geometry);

    /// Which docks are shown, and how wide.
    QByteArray docks() const;
    void setDocks(const QByteArray& docks);

    bool dark() const;
    void setDark(bool dark);
    QString language() const; ///< empty: the system's
    void setLanguage(const QString& language);
    bool binaryUnits() const;
    void setBinaryUnits(bool binary);

    /// The user's shortcut for the action of that name; absent: its default. An empty one is "no shortcut".
    std::optional<QKeySequence> shortcut(const QString& action) const;
    void setShortcut(const QString& action, const std::optional<QKeySequence>& keys);

    /// Files with machines that were chosen for the sliders, last one first.
    QStringList machineFiles() const;
    /// Whether this is a forgetful one: what the user keeps on his disk is not to be looked at either.
    bool isForgetful() const;
    void addMachineFile(const QString& path);

    /// Queries that the user kept, last one first.
    QStringList savedQueries() const;
    void setSavedQueries(const QStringList& queries);

    QString lastFolder() const;
    void setLastFolder(const QString& folder);

private:
    std::unique_ptr<QSettings> m_store; ///< null when forgetful
};

} // namespace fourwalls::gui
