// SPDX-License-Identifier: GPL-3.0-or-later
// One slider of the What-if dock: its name, a slider that has only stops that fit, a green tick where the recording
// stands, the value, which can also be typed, and a lock.
#pragma once

#include <QLineEdit>
#include <QSlider>
#include <QWidget>

#include <functional>
#include <optional>
#include <vector>

class QLabel;
class QTimer;
class QToolButton;

namespace fourwalls::views {

/// A slider over a list of values. A drag, a key held down or a turn of the wheel is one gesture.
class KnobSlider : public QSlider {
    Q_OBJECT
public:
    explicit KnobSlider(QWidget* parent = nullptr);

    /// values: ascending, not empty.
    void setStops(std::vector<double> values);
    const std::vector<double>& stops() const { return m_stops; }
    /// Shows a value that was set elsewhere; between stops if it is none.
    void showValue(double value);
    void setRecorded(std::optional<double> value);
    double chosen() const;
    bool isMoving() const { return m_moving; }

    QSize sizeHint() const override { return {120, 20}; }
    QSize minimumSizeHint() const override { return {60, 20}; }

signals:
    void gestureBegan();
    void valueChosen(double value);
    void gestureEnded();
    /// A key that begins a number (or F2, then empty): the value is to be typed.
    void typingBegan(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void keyReleaseEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void begin();
    void end();
    double xOfIndex(double index) const;
    void chooseAt(double x);
    double indexOf(double value) const;

    std::vector<double> m_stops{0};
    std::optional<double> m_recorded;
    double m_shown = 0; ///< place of the handle, in stops; a fraction where the value is none of them
    bool m_moving = false;
    QTimer* m_wheelRest; ///< the wheel's gesture ends when it rests
};

/// The value beside a slider: reads as a word, becomes a field for a number when it is clicked.
class KnobValue : public QLineEdit {
    Q_OBJECT
public:
    explicit KnobValue(QWidget* parent = nullptr);
    /// How the value reads, and the number to start from when it is typed over.
    void showValue(const QString& words, const QString& number);
    /// Takes the focus with this text in place of the number; empty: with the number, selected.
    void startTyping(const QString& text);

signals:
    void typed(const QString& text);
    void left(); ///< by Return or Escape: the slider wants the focus back

protected:
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void begin();
    void finish(bool take);

    QString m_words, m_number;
    bool m_typing = false;
};

/// "24", "1 024", "2k", "200 Gb/s": a typed number in its own unit, whatever unit follows its prefix. Absent for
/// everything else. usualFactor: of a bare number (1e9 where values are gigabits).
std::optional<double> typedNumber(const QString& text, double usualFactor = 1);

/// Stops to which a number of something can be doubled and halved, and itself.
std::vector<double> doublingStops(int value, int most);

class KnobRow : public QWidget {
    Q_OBJECT
public:
    /// Place: as wide as a row with a lock's button.
    enum class Lock { None, Place, Button };
    KnobRow(Lock lock, QWidget* parent = nullptr);

    void setName(const QString& name, const QString& explanation);
    /// How a value reads beside the slider.
    void setFormat(std::function<QString(double)> format) { m_format = std::move(format); }
    /// How a value is typed: shown = value x scale in units of factor. Without: the plain number.
    void setTyping(double scale, double factor);
    void setStops(std::vector<double> stops);
    void showValue(double value);
    void setRecorded(std::optional<double> value);
    void setLocked(bool locked);
    /// Why it cannot be moved; empty: it can.
    void setBlocked(const QString& reason);

    KnobSlider& slider() { return *m_slider; }
    KnobValue& value() { return *m_value; }
    QToolButton* lock() { return m_lock; }
    QString valueText() const;

signals:
    void lockToggled(bool locked);
    /// A number was typed; it may be none of the stops.
    void valueTyped(double value);

private:
    void writeValue(double value);

    QLabel* m_name;
    KnobValue* m_value;
    KnobSlider* m_slider;
    QToolButton* m_lock = nullptr;
    QString m_title, m_explanation;
    std::function<QString(double)> m_format;
    double m_scale = 1, m_factor = 1;
};

/// The words beside a slider have one width in all rows.
inline constexpr int kKnobNameWidth = 118;
inline constexpr int kKnobValueWidth = 74; ///< of "9.03 GB/s"

} // namespace fourwalls::views
