// SPDX-License-Identifier: GPL-3.0-or-later
// The first page: open a trace, record one, run a sample, or go back to a recent file.
#pragma once

#include <QList>
#include <QWidget>

class QBoxLayout;
class QVBoxLayout;

namespace fourwalls::views {

/// A sample that the application can record or make on this machine.
struct SampleEntry {
    QString id, title, description;
};

class WelcomePage : public QWidget {
    Q_OBJECT
public:
    explicit WelcomePage(QWidget* parent = nullptr);

    /// Newest first.
    void setRecentFiles(const QStringList& paths);
    void setSamples(const QList<SampleEntry>& samples);
    void retranslate();

signals:
    void openRequested();
    void recordRequested();
    void fileRequested(const QString& path);
    void sampleRequested(const QString& id);
    void demosRequested();

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void rebuild();
    /// The large buttons beside each other where all their words have room, else below each other.
    void arrange();
    void fillRecent(QVBoxLayout* recent);
    void fillSamples(QVBoxLayout* samples);

    QStringList m_recent;
    QList<SampleEntry> m_samples;
    QWidget* m_content = nullptr;
    QWidget* m_scrolled = nullptr; ///< what it scrolls in where the window is low
    QBoxLayout* m_actions = nullptr;
    QVBoxLayout* m_outer;
};

} // namespace fourwalls::views
