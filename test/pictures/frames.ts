import sharp from 'sharp';

/** A picture, and how long it is shown. */
export interface Frame {
  readonly png: Buffer;
  readonly ms: number;
}

/** Writes frames of one size as a moving WebP that repeats for ever. */
export async function writeMoving(path: string, frames: readonly Frame[]): Promise<void> {
  const pictures = frames.map(({ png }) => png);
  await sharp(pictures, { join: { animated: true } })
    .webp({ quality: 70, delay: frames.map(({ ms }) => ms), loop: 0 })
    .toFile(path);
}
