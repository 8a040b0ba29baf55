import { AxeBuilder } from '@axe-core/playwright';
import type { Route } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { soon, type Explorer } from './explorer.js';

/** The page in windows of all sizes, by keyboard, and without JavaScript. */
export function windowTests(explorer: Explorer): void {
  const bottomOf = (selector: string) =>
    explorer.page
      .locator(selector)
      .filter({ visible: true })
      .evaluate((element) => element.getBoundingClientRect().bottom);
  const size = () =>
    explorer.page.evaluate(() => {
      const { scrollHeight, scrollWidth } = document.documentElement;
      return { width: scrollWidth, height: scrollHeight };
    });

  const scrolled = () => explorer.page.evaluate(() => document.documentElement.scrollTop);

  describe('once it is loaded', () => {
    explorer.loadOnce();

    test('scrolls rather than overlap in a small window', async () => {
      for (const viewport of [
        { width: 320, height: 568 },
        { width: 640, height: 400 },
        { width: 667, height: 375 },
        { width: 740, height: 500 },
        { width: 1024, height: 380 },
      ]) {
        await explorer.page.setViewportSize(viewport);
        const [tool, editors, answer, page] = await Promise.all([
          bottomOf('.graphiql-editor-tool'),
          bottomOf('.graphiql-editors'),
          bottomOf('.graphiql-response'),
          size(),
        ]);
        expect(tool).toBeLessThanOrEqual(editors);
        expect(answer).toBeLessThanOrEqual(page.height);
        expect(page.width).toBe(viewport.width);
      }
    });

    test('fits into the window of a phone, a tablet and a laptop', async () => {
      for (const viewport of [
        { width: 375, height: 667 },
        { width: 390, height: 844 },
        { width: 760, height: 600 },
        { width: 1280, height: 800 },
      ]) {
        await explorer.page.setViewportSize(viewport);
        expect(await bottomOf('.graphiql-editor-tool')).toBeLessThanOrEqual(
          await bottomOf('.graphiql-editors'),
        );
        expect(await size()).toEqual(viewport);
      }
    });

    test('shows all settings in windows of all widths', async () => {
      await explorer.page.getByLabel('Open settings dialog').click();
      for (const width of [320, 390, 1280]) {
        await explorer.page.setViewportSize({ width, height: 800 });
        const dialog = await explorer.page.getByRole('dialog').boundingBox();
        for (const name of ['Off', 'Dark', 'Clear data']) {
          const button = await explorer.page.getByRole('button', { name, exact: true }).boundingBox();
          expect((button?.x ?? width) + (button?.width ?? 0)).toBeLessThanOrEqual(
            (dialog?.x ?? 0) + (dialog?.width ?? 0),
          );
        }
        expect(dialog?.x).toBeGreaterThanOrEqual(0);
      }
    });

    test('names the icons after what they show', async () => {
      const titles = await explorer.page.locator('svg title').allTextContents();
      expect(titles).toEqual(expect.arrayContaining(['docs icon', 'close icon', 'play icon']));
    });

    test.each(['light', 'dark'] as const)('shows which button has the focus (%s)', async (colorScheme) => {
      await explorer.page.emulateMedia({ colorScheme });
      for (const name of ['Show History', 'Shipments', 'Execute query', 'Headers']) {
        const button = explorer.button(name);
        await button.focus();
        await explorer.page.keyboard.press('Shift'); // now the focus is the keyboard's
        const ring = () =>
          button.evaluate((element) => {
            const { outlineWidth, outlineColor } = getComputedStyle(element);
            return `${outlineWidth} ${outlineColor}`;
          });
        await expect.poll(ring, soon).toMatch(/^2px rgb\(/); // not transparent
      }
    });

    test.each(['light', 'dark'] as const)('has texts that stand out (%s)', async (colorScheme) => {
      const { page } = explorer;
      await page.emulateMedia({ colorScheme });
      const axe = new AxeBuilder({ page }).setLegacyMode().withRules('color-contrast');
      const pale = async () => {
        const { violations } = await axe.analyze();
        return violations.flatMap(({ nodes }) => nodes.map(({ html }) => html));
      };
      expect(await pale()).toEqual([]);
    });

    test.each(['light', 'dark'] as const)('can be read in forced colors (%s)', async (colorScheme) => {
      const { page } = explorer;
      await page.emulateMedia({ forcedColors: 'active', colorScheme });
      const style = (selector: string, property: 'color' | 'backgroundColor' | 'borderTopWidth') =>
        page
          .locator(selector)
          .first()
          .evaluate((element, name) => getComputedStyle(element)[name], property);
      const execute = '.graphiql-execute-button';
      expect(await style(`${execute} svg`, 'color')).not.toBe(await style(execute, 'backgroundColor'));
      expect(await style(execute, 'borderTopWidth')).toBe('1px');
      await page.getByLabel('Open settings dialog').click();
      for (const [selected, rest] of [
        ['.graphiql-tab-active button', '.graphiql-tab:not(.graphiql-tab-active) button'],
        ['.graphiql-editor-tools button.active', '.graphiql-editor-tools button:not(.active)'],
        ['.graphiql-button-group button.active', '.graphiql-button-group button:not(.active)'],
      ] as const)
        for (const property of ['color', 'backgroundColor'] as const)
          expect(await style(selected, property)).not.toBe(await style(rest, property));
    });

    test('lets Tab leave an editor, in both directions', async () => {
      const isInEditor = () =>
        explorer.page.evaluate(() => document.activeElement?.closest('.monaco-editor') !== null);
      const editor = explorer.page.locator('.graphiql-query-editor .monaco-editor');
      const before = await editor.innerText();
      for (const key of ['Tab', 'Shift+Tab']) {
        await editor.click();
        expect(await isInEditor()).toBe(true);
        await explorer.page.keyboard.press(key);
        expect(await isInEditor()).toBe(false);
      }
      expect(await editor.innerText()).toBe(before);
    });

    test('scrolls the page of a small window by the wheel over each editor', async () => {
      await explorer.page.setViewportSize({ width: 667, height: 375 });
      await explorer.replaceAndRun('query { __typename }');
      for (const part of ['.graphiql-query-editor', '.graphiql-editor-tool', '.graphiql-response']) {
        await explorer.page.locator(`${part} .monaco-editor`).filter({ visible: true }).hover();
        const before = await scrolled();
        await explorer.page.mouse.wheel(0, before > 0 ? -100 : 100);
        await expect.poll(scrolled, soon).not.toBe(before);
      }
    });

    test('scrolls the text of an editor before the page', async () => {
      await explorer.page.setViewportSize({ width: 667, height: 375 });
      const editor = explorer.page.locator('.graphiql-query-editor .monaco-editor');
      await explorer.replaceAndRun(`query { ${'\n__typename'.repeat(100)} }`);
      await editor.hover();
      const before = await scrolled();
      const text = await editor.innerText();
      await explorer.page.mouse.wheel(0, -200);
      await expect.poll(() => editor.innerText(), soon).not.toBe(text);
      expect(await scrolled()).toBe(before);
    });

    test('shows the whole tooltip of a field on the first line', async () => {
      await explorer.replaceAndRun('query { viewer { name } }');
      const editor = explorer.page.locator('.graphiql-query-editor .monaco-editor');
      await editor.getByText('viewer', { exact: true }).hover();
      const tooltip = explorer.page
        .locator('.monaco-hover')
        .filter({ hasText: 'The person who is signed in' });
      await tooltip.waitFor();
      const line = await editor.locator('.view-line').first().boundingBox();
      expect((await tooltip.boundingBox())?.y).toBeGreaterThan(line?.y ?? Infinity);
    });
  });

  describe('with what a user does', () => {
    explorer.loadEach();

    test('shows the whole bar in a small window, and why a sign-in failed', async () => {
      const { page, button } = explorer;
      const sizes = [
        { width: 320, height: 640 },
        { width: 640, height: 400 },
        { width: 320, height: 256 },
      ];
      const expectAboveMain = async (part: string) => {
        for (const viewport of sizes) {
          await page.setViewportSize(viewport);
          expect(await bottomOf(part)).toBeLessThanOrEqual(
            (await page.locator('main').boundingBox())?.y ?? 0,
          );
        }
      };
      await page.setViewportSize(sizes[0]!);
      await explorer.signIn({ email: 'demo@example.com', password: 'wrong' });
      await expectAboveMain('.bar-problem');
      await explorer.signIn();
      await button('Sign out').waitFor();
      await expectAboveMain('.bar-person button');
    });

    test('has documentation that stands out, light and dark', async () => {
      const { page } = explorer;
      await page.getByLabel('Show Documentation Explorer').click();
      await page.getByText('Mutation', { exact: true }).click();
      const texts = page.locator(
        '.graphiql-doc-explorer-field-name, .graphiql-doc-explorer-type-name, .graphiql-doc-explorer-argument-name',
      );
      await page.getByText('signIn', { exact: true }).waitFor();
      const colors = () =>
        texts.evaluateAll((elements) => elements.map((element) => getComputedStyle(element).color));
      for (const [colorScheme, paper] of [
        ['light', 'rgb(255, 255, 255)'],
        ['dark', 'rgb(33, 42, 59)'],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        const background = luminance(paper);
        const shown = await colors();
        expect(shown.length).toBeGreaterThan(10);
        for (const color of shown) {
          const [dark = 0, light = 0] = [luminance(color), background].toSorted((one, two) => one - two);
          expect((light + 0.05) / (dark + 0.05)).toBeGreaterThanOrEqual(4.5);
        }
      }
    });
  });

  describe('before it is loaded', () => {
    explorer.loadNone();

    test('says at the top that it needs JavaScript', async () => {
      const page = await explorer.browser.newPage({ javaScriptEnabled: false });
      await page.goto(`${explorer.gateway.url}/graphql`);
      const notice = await page.locator('noscript p').boundingBox();
      expect(notice?.y).toBeLessThan(100);
      expect(await page.locator('.loading').isVisible()).toBe(false);
      await page.close();
    });

    test('says that it is loading until its script has come', async () => {
      const page = await explorer.browser.newPage();
      const scripts: Route[] = [];
      await page.route('**/assets/explorer-*.js', (route) => void scripts.push(route));
      await page.goto(`${explorer.gateway.url}/graphql`, { waitUntil: 'commit' });
      const loading = page.locator('.loading');
      await loading.waitFor();
      await expect.poll(() => scripts.length, soon).toBe(1);
      await scripts[0]!.continue();
      await page.locator('.graphiql-container').waitFor();
      expect(await loading.count()).toBe(0);
      await page.close();
    });

    test('says what to do if its script does not come', async () => {
      const page = await explorer.browser.newPage();
      await page.route('**/assets/explorer-*.js', (route) => route.fulfill({ status: 404 }));
      await page.goto(`${explorer.gateway.url}/graphql`);
      const advice = page.getByText('reload the page');
      expect(await advice.isVisible()).toBe(false);
      await page.evaluate(() => document.getAnimations().forEach((animation) => animation.finish()));
      await advice.waitFor();
      await page.close();
    });

    test('does not move once it is known who is signed in', async () => {
      const { page } = explorer;
      const editors = () => page.locator('.graphiql-editors').boundingBox();
      const lookUps: Route[] = [];
      await page.route('**/graphql', (route) =>
        route.request().method() === 'POST' ? void lookUps.push(route) : route.continue(),
      );
      await explorer.load();
      const before = await editors();
      for (const lookUp of lookUps) await lookUp.continue();
      await explorer.button('Sign in').waitFor();
      expect(before).toEqual(await editors());
    });
  });
}

/** The relative luminance of a color, as WCAG defines it. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map((value) => {
    const part = Number(value) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
