import { useEffect } from 'react';
import { useMonaco } from '@graphiql/react';

const [paper, accent, tint, none] = ['#212a3b', '#ff5794', '#ff579419', '#ffffff00'];

/** The colors of GraphiQL's dark theme. */
const colors = {
  'editor.background': none,
  'scrollbar.shadow': none,
  'textLink.foreground': accent,
  'textLink.activeForeground': accent,
  'editorLink.activeForeground': accent,
  'editorHoverWidget.background': paper,
  'list.hoverBackground': tint,
  'list.highlightForeground': accent,
  'list.focusHighlightForeground': accent,
  'menu.background': paper,
  'editorSuggestWidget.background': paper,
  'editorSuggestWidget.selectedBackground': tint,
  'editorSuggestWidget.selectedForeground': accent,
  'quickInput.background': paper,
  'quickInputList.focusForeground': '#ffffff',
  'highlighted.label': accent,
  'quickInput.widget': accent,
  highlight: accent,
  'editorWidget.background': paper,
  'input.background': '#b7c2d711',
  focusBorder: accent,
  'toolbar.hoverBackground': tint,
  'inputOption.hoverBackground': tint,
  'quickInputList.focusBackground': tint,
  'editorWidget.resizeBorder': accent,
  'pickerGroup.foreground': accent,
  'menu.selectionBackground': tint,
  'menu.selectionForeground': accent,
};

/** Replaces the dark theme of GraphiQL's editors by the same with comments that can be read. */
export function DarkTheme(): null {
  const monaco = useMonaco((state) => state.monaco);
  useEffect(() => {
    monaco?.editor.defineTheme('graphiql-DARK', {
      base: 'vs-dark',
      inherit: true,
      colors,
      rules: [
        { token: 'argument.identifier.gql', foreground: '#908aff' },
        { token: 'comment', foreground: '#8fb87c' },
      ],
    });
  }, [monaco]);
  return null;
}
